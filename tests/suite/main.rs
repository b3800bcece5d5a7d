//! The one integration test binary: the real program against the practice portal, and the rules of the house.

mod tidy;
