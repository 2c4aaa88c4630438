// The snippet for vl_convert.javascript_bundle(), with VEGA_VERSION replaced by vl_convert.get_vega_version().
// The bundle becomes assets/live/vega.js. Named imports only: the vendored module has no default export, so the
// `vega` that vl_convert puts in scope for snippets is null.
export { parse, View } from "/npm/vega@VEGA_VERSION/+esm";
