// The addresses of the site, which may be served under any path, and its pages, which instant navigation shows in one document.

/** The URL of a file beside this module. */
export function assetUrl(file: string): string {
  return new URL(file, import.meta.url).href;
}

/** An address relative to the site's root, without query and fragment; null outside of the site. */
export function sitePath(url: string): string | null {
  const root = assetUrl("../../");
  const address = url.replace(/[?#].*$/, "");
  return address.startsWith(root) ? address.slice(root.length) : null;
}

/** The address of a page of the site; null for an address outside of it. */
export function siteUrl(page: string): string | null {
  const root = assetUrl("../../");
  const { href } = new URL(page, root);
  return href.startsWith(root) ? href : null;
}

/** Calls at once, and after every instant navigation. */
export function onEveryPage(listener: () => void): void {
  const { document$ } = window as { document$?: { subscribe(listener: () => void): unknown } };
  if (document$) document$.subscribe(listener);
  else listener();
}
