// Which of the addresses that reached the proxy were asked for by the site, and which by the browser for itself.
// @ts-check

/** Services that Chromium and Firefox call on their own account, whatever page is open and whatever flags are set. */
const BROWSERS_OWN = new Set([
  "accounts.google.com",
  "android.clients.google.com",
  "clients2.google.com",
  "content-autofill.googleapis.com",
  "optimizationguide-pa.googleapis.com",
  "redirector.gvt1.com",
  "update.googleapis.com",
  "www.google.com",
  "aus5.mozilla.org",
  "content-signature-2.cdn.mozilla.net",
  "firefox-settings-attachments.cdn.mozilla.net",
  "firefox.settings.services.mozilla.com",
  "push.services.mozilla.com",
]);

/** @param {string[]} asked  addresses from the refusing proxy */
export function askedByTheSite(asked) {
  return asked.filter((address) => !BROWSERS_OWN.has(new URL(address).hostname));
}
