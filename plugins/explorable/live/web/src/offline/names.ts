// The caches of the kept book, by name: page and service worker share nothing else.

/** The caches of a site: an origin may hold several. */
export const cacheName = (root: string, release: string): string => `${prefixOf(root)}${release}`;
const prefixOf = (root: string): string => `${id}-book ${new URL(root).pathname} `;
/** Set by the page and by the service worker. */
let id = "";
export function bookIs(named: string): void {
  id = named;
}

/** The caches of every release that is here, whole or in part. */
export const bookNames = async (root: string): Promise<string[]> => (await caches.keys()).filter((name) => name.startsWith(prefixOf(root)));
