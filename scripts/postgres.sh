#!/usr/bin/env bash
# A throw-away PostgreSQL server of our own: its own folder, its own socket, no port but one of loopback that is asked for.
# It never looks at a server that is there already.
#
#   postgres.sh install [tests]            installs the packages where they are missing; what only tests need as well
#   postgres.sh serve FOLDER PID [PORT]    makes a server in FOLDER and prints its URL; gone, folder and all, when PID is
#   postgres.sh nextest                    the same for one run of nextest
#   postgres.sh stop FOLDER MODE           stops the server in FOLDER: fast, immediate or kill
#   postgres.sh start FOLDER               starts it again
#   postgres.sh restart FOLDER MODE        both
#   postgres.sh secure FOLDER              makes it take nothing on its port but TLS, as localhost; prints the CA's file
#   postgres.sh pool FOLDER PID            puts pgbouncer before it, in transaction mode, and prints its URL; gone with PID
#   postgres.sh with COMMAND…              runs a command with GAPLESS_TEST_POSTGRES set to the URL of one
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/packages.sh
. "$here/packages.sh"

# The newest that is installed; Debian keeps the programs out of PATH.
programs() {
  local initdb
  for initdb in $(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -t/ -k5 -rn) "$(command -v initdb || true)"; do
    if [ -x "$initdb" ]; then
      dirname "$initdb"
      return
    fi
  done
  return 1
}

install() {
  if [ "${1:-}" = tests ]; then
    bring pgbouncer
  fi
  if programs >/dev/null && command -v openssl >/dev/null; then
    return
  fi
  local root=()
  if [ "$(id -u)" != 0 ]; then
    root=(sudo --non-interactive)
  fi
  echo "installing PostgreSQL" >&2
  # The package would make and start a server of its own.
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    "${root[@]}" mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" | "${root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  "${root[@]}" apt-get update --quiet >&2 || true
  "${root[@]}" apt-get install --yes --no-install-recommends postgresql postgresql-client openssl >&2
}

# The server refuses to run as root.
as_user() {
  if [ "$(id -u)" != 0 ]; then
    "$@"
  elif id postgres >/dev/null 2>&1; then
    setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
  else
    setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
  fi
}

start() {
  local folder=$1 bin
  bin=$(programs)
  (cd "$folder" && as_user "$bin/pg_ctl" --pgdata="$folder/data" --log="$folder/log" --wait --timeout=60 start >/dev/null 2>&1 </dev/null) ||
    { cat "$folder/log" >&2; return 1; }
}

make_server() {
  local folder=$1 port=${2:-} bin
  bin=$(programs) || { echo "PostgreSQL is not installed: run \`scripts/postgres.sh install\`" >&2; return 1; }
  mkdir -p "$folder"
  chmod 755 "$folder"
  if [ "$(id -u)" = 0 ]; then
    chown "$(as_user id -u)" "$folder"
  fi
  (cd "$folder" && as_user "$bin/initdb" --pgdata="$folder/data" --username=gapless --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
    --no-sync >/dev/null)
  as_user tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '${port:+127.0.0.1}'
port = ${port:-5432}
unix_socket_directories = '$folder'
max_connections = 200
shared_buffers = 32MB
fsync = ${GAPLESS_POSTGRES_FSYNC:-off}
CONF
  start "$folder"
}

# Ends the server, and takes its folder away, when a process is gone.
watch() {
  local folder=$1 pid=$2
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
  done
  as_user "$(programs)/pg_ctl" --pgdata="$folder/data" --mode=immediate --wait stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}

serve() {
  local folder=$1 pid=$2 port=${3:-}
  make_server "$folder" "$port"
  (cd / && watch "$folder" "$pid") >/dev/null 2>&1 </dev/null &
  disown
  if [ -n "$port" ]; then
    echo "postgres://gapless@127.0.0.1:$port/postgres"
  else
    echo "postgres://gapless@localhost/postgres?host=$folder"
  fi
}

stop() {
  local folder=$1 mode=$2 bin
  bin=$(programs)
  if [ "$mode" = kill ]; then
    local pid
    pid=$(head -1 "$folder/data/postmaster.pid")
    kill -KILL "$pid"
    # Its children notice by themselves; their memory must be gone before the next can have it.
    while pgrep --parent "$pid" >/dev/null 2>&1 || kill -0 "$pid" 2>/dev/null; do
      sleep 0.05
    done
  else
    as_user "$bin/pg_ctl" --pgdata="$folder/data" --mode="$mode" --wait stop >/dev/null
  fi
}

restart() {
  local folder=$1 try
  stop "$folder" "$2"
  for try in 1 2 3 4 5 6 7 8 9 10; do
    if start "$folder" 2>/dev/null; then
      return
    fi
    sleep 0.3
  done
  start "$folder"
}

# A CA of its own signs for localhost and for nobody else.
secure() {
  local folder=$1 tls=$1/tls
  as_user mkdir "$tls"
  as_user sh -euc '
    cd "$1"
    key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    openssl req -x509 $key -days 2 -subj "/CN=gapless tests" -keyout ca.key -out ca.pem
    openssl req $key -subj /CN=localhost -keyout server.key -out server.csr
    echo "subjectAltName = DNS:localhost" >names
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
    chmod 600 server.key
  ' sh "$tls" >/dev/null 2>"$folder/openssl" || { cat "$folder/openssl" >&2; return 1; }
  as_user tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
ssl = on
ssl_cert_file = '$tls/server.pem'
ssl_key_file = '$tls/server.key'
CONF
  as_user tee "$folder/data/pg_hba.conf" >/dev/null <<CONF
local all all trust
hostssl all all all trust
hostnossl all all all reject
CONF
  restart "$folder" fast
  echo "$tls/ca.pem"
}

# Fewer connections to the server than a run has, so that they are really shared.
pool() {
  local folder=$1 pid=$2 pool=$1/pool bin name
  bin=$(program pgbouncer)
  as_user mkdir "$pool"
  # Its own user may not be let into the folder of the project.
  cp "$bin" "$pool/pgbouncer"
  for name in "$unpacked"/usr/lib/*-linux-gnu*/lib*.so*; do
    if [ -e "$name" ]; then
      cp "$name" "$pool"
    fi
  done
  as_user tee "$pool/ini" >/dev/null <<CONF
[databases]
* = host=$folder
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
listen_addr =
unix_socket_dir = $pool
auth_type = trust
auth_file = $pool/users
pidfile = $pool/pid
logfile = $pool/log
# By itself it waits for 15 s before it looks for a server again that was away.
server_login_retry = 1
CONF
  echo '"gapless" ""' | as_user tee "$pool/users" >/dev/null
  (cd "$pool" && LD_LIBRARY_PATH=$pool as_user ./pgbouncer --daemon --quiet ini)
  while [ ! -s "$pool/pid" ] || [ ! -e "$pool/.s.PGSQL.6432" ]; do
    sleep 0.05
  done
  (cd / && end_pool "$pool" "$pid") >/dev/null 2>&1 </dev/null &
  disown
  echo "postgres://gapless@localhost/postgres?host=$pool&port=6432"
}

end_pool() {
  local pool=$1 pid=$2 own
  own=$(cat "$pool/pid")
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
  done
  kill "$own"
}

case ${1:-} in
  install) install "${2:-}" ;;
  serve) serve "$2" "$3" "${4:-}" ;;
  nextest)
    url=$(serve "$(mktemp -d /tmp/gapless-postgres.XXXXXX)" "$PPID")
    echo "GAPLESS_TEST_POSTGRES=$url" >>"$NEXTEST_ENV"
    ;;
  stop) stop "$2" "$3" ;;
  start) start "$2" ;;
  restart) restart "$2" "$3" ;;
  secure) secure "$2" ;;
  pool) pool "$2" "$3" ;;
  with)
    shift
    url=$(serve "$(mktemp -d /tmp/gapless-postgres.XXXXXX)" "$$")
    export GAPLESS_TEST_POSTGRES=$url
    "$@"
    ;;
  *)
    sed -n '2,13s/^# \{0,1\}//p' "$here/postgres.sh" >&2
    exit 2
    ;;
esac
