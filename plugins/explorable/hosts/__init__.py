"""The programs that build a site, each behind an adapter: all else knows none of them."""
