#!/usr/bin/env bash
# Throw-away servers that limit for real: nginx and HAProxy in front of a portal, on loopback, each with its own folder.
# They never look at a server that is there already, and installing them starts none.
#
#   limiters.sh install                                    brings the programs where they are missing
#   limiters.sh serve PRESET FOLDER PID PORT UPSTREAM      starts one on PORT before UPSTREAM (127.0.0.1:8080) and prints
#                                                          its URL; gone, folder and all, when PID is
#   limiters.sh presets                                    lists what PRESET may be
#   limiters.sh nextest                                    the same as install, for one run of nextest
#
# What a server saw of each request stands in FOLDER/log, a line each, written as it ends: `began` or `ended` and when, in
# milliseconds since 1970; the milliseconds it took; its status; `passed` or `refused`; its query.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/packages.sh
. "$here/packages.sh"

presets() {
  cat <<'LIST'
nginx-leaky       40/s, no two calls within 25 ms; 429
nginx-leaky-503   the same, with the status that nginx has by default
nginx-burst       40/s, 40 calls saved up; 429
nginx-shape       40/s, what comes faster waits
nginx-conn        4 in flight; 503
haproxy-window    40 within a second; 429
haproxy-ban       the same, then nothing for 10 s; 403
haproxy-envelope  40 within a second; status 200, and code 23 of the gateway inside
LIST
}

# Before all others where that may be had: a server that is kept waiting for the processor sees calls come closer together
# than they were sent.
as_server() {
  local first=()
  if chrt --fifo 10 true 2>/dev/null; then
    first+=(chrt --fifo 10)
  fi
  LD_LIBRARY_PATH=$(libraries) "${first[@]}" "$@"
}

nginx_conf() {
  local preset=$1 folder=$2 port=$3 upstream=$4 limit
  case $preset in
    nginx-leaky) limit='limit_req zone=rate; limit_req_status 429;' ;;
    nginx-leaky-503) limit='limit_req zone=rate;' ;;
    nginx-burst) limit='limit_req zone=rate burst=40 nodelay; limit_req_status 429;' ;;
    nginx-shape) limit='limit_req zone=rate burst=1000;' ;;
    nginx-conn) limit='limit_conn flight 4;' ;;
    *) return 2 ;;
  esac
  cat <<CONF
$( [ "$(id -u)" != 0 ] || echo 'user root;')
worker_processes 1;
pid $folder/pid;
error_log $folder/error.log crit;
events { worker_connections 512; }
http {
  client_body_temp_path $folder/body;
  proxy_temp_path $folder/proxy;
  fastcgi_temp_path $folder/fastcgi;
  uwsgi_temp_path $folder/uwsgi;
  scgi_temp_path $folder/scgi;
  map "\$limit_req_status\$limit_conn_status" \$seen { ~REJECTED refused; default passed; }
  map \$msec \$ended_ms { ~^(?<second>\d+)\.(?<rest>\d+)\$ \$second\$rest; }
  map \$request_time \$took_ms { ~^(?<whole>\d+)\.(?<part>\d+)\$ \$whole\$part; }
  log_format judge 'ended \$ended_ms \$took_ms \$status \$seen \$args';
  access_log $folder/log judge;
  limit_req_zone \$binary_remote_addr zone=rate:1m rate=40r/s;
  limit_conn_zone \$binary_remote_addr zone=flight:1m;
  upstream portal { server $upstream; keepalive 64; }
  server {
    listen 127.0.0.1:$port;
    keepalive_requests 100000;
    $limit
    location / {
      proxy_pass http://portal;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
CONF
}

haproxy_conf() {
  local preset=$1 folder=$2 port=$3 upstream=$4 limit
  local too_many='{ sc_http_req_rate(0) gt 40 }'
  case $preset in
    haproxy-window) limit="http-request deny deny_status 429 if $too_many" ;;
    haproxy-ban)
      limit="http-request track-sc1 src table bans if $too_many
  http-request sc-inc-gpc0(1) if $too_many
  http-request deny deny_status 403 if $too_many"
      ;;
    haproxy-envelope) limit="http-request return status 200 content-type text/xml file $folder/envelope.xml if $too_many" ;;
    *) return 2 ;;
  esac
  cat <<CONF
global
  nbthread 1
  noreuseport
  pidfile $folder/pid
  log fd@3 format raw local0
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  timeout http-keep-alive 60s
frontend in
  bind 127.0.0.1:$port
  log global
  option dontlognull
  option http-ignore-probes
  log-format "began %[var(txn.at)] %Ta %ST %[var(txn.seen)] %HQ"
  http-request set-var(txn.at) date(0,ms)
  http-request set-var(txn.seen) str(refused)
  # Whoever is banned is not counted: looking does not make it longer.
  http-request deny deny_status 403 if { src,table_gpc0(bans) gt 0 }
  http-request track-sc0 src table calls
  $limit
  http-request set-var(txn.seen) str(passed)
  default_backend portal
backend portal
  http-reuse always
  server portal $upstream
backend calls
  stick-table type ip size 1k expire 60s store http_req_rate(1s)
backend bans
  stick-table type ip size 1k expire 10s store gpc0
CONF
}

envelope='<OpenAPI_ServiceResponse><cmmMsgHeader><errMsg>SERVICE ERROR</errMsg><returnAuthMsg>LIMITED_NUMBER_OF_SERVICE_REQUESTS_PER_SECOND_EXCEEDS_ERROR</returnAuthMsg><returnReasonCode>23</returnReasonCode></cmmMsgHeader></OpenAPI_ServiceResponse>'

start() {
  local preset=$1 folder=$2 bin
  case $preset in
    nginx-*)
      bin=$(program nginx)
      nginx_conf "$@" >"$folder/conf"
      as_server "$bin" -p "$folder" -c "$folder/conf" -e "$folder/error.log"
      ;;
    haproxy-*)
      bin=$(program haproxy)
      haproxy_conf "$@" >"$folder/conf"
      echo "$envelope" >"$folder/envelope.xml"
      as_server "$bin" -D -f "$folder/conf" 3>"$folder/log" 2>"$folder/error.log"
      ;;
    *)
      echo "there is no preset $preset; there are" >&2
      presets >&2
      return 2
      ;;
  esac </dev/null
}

# Ends the server, and takes its folder away, when a process is gone.
watch() {
  local folder=$1 pid=$2
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
  done
  kill "$(cat "$folder/pid")" 2>/dev/null || true
  rm -rf "$folder"
}

serve() {
  local preset=$1 folder=$2 pid=$3 port=$4 upstream=$5
  mkdir -p "$folder"
  start "$preset" "$folder" "$port" "$upstream" || { cat "$folder/error.log" >&2; return 1; }
  # In a session of its own: whoever ends a test ends all that is of its group.
  (cd / && setsid --fork "$here/limiters.sh" watch "$folder" "$pid") >/dev/null 2>&1 </dev/null
  echo "http://127.0.0.1:$port"
}

case ${1:-} in
  install) bring nginx haproxy ;;
  serve) serve "$2" "$3" "$4" "$5" "$6" ;;
  watch) watch "$2" "$3" ;;
  presets) presets ;;
  # The tests that need them fail, each by its name, where they cannot be had.
  nextest) bring nginx haproxy || true ;;
  *)
    sed -n '2,12s/^# \{0,1\}//p' "$here/limiters.sh" >&2
    exit 2
    ;;
esac
