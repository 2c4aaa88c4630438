// The browser's own local and session storage: works where there is none, and with what someone else left in it.

/** One of the browser's own storage areas, as far as it can be relied on. */
export interface SafeStorage {
  /** False where storage is blocked or full, as in some private windows: nothing that is written outlives the page. */
  readonly lasting: boolean;
  /** The stored JSON value, or null when there is none or it is not JSON. */
  read(key: string): unknown;
  /** Returns whether the value will be there at the next visit. */
  write(key: string, value: unknown): boolean;
  remove(key: string): void;
  keys(): string[];
}

/** Opens a storage area. `area` may throw, as `window.localStorage` does where site data is blocked. */
export function openStorage(area: () => Storage): SafeStorage {
  // A full one can be read: it holds what was kept before.
  const storage = attempt(area);
  const memory = new Map<string, string>();
  return {
    lasting: attempt(() => [storage?.setItem(PROBE, ""), storage?.removeItem(PROBE)]) !== undefined && Boolean(storage),
    read(key) {
      const text = memory.get(key) ?? attempt(() => storage?.getItem(key)) ?? null;
      if (text === null) return null;
      return attempt(() => JSON.parse(text) as unknown) ?? null;
    },
    write(key, value) {
      const text = JSON.stringify(value);
      // A full storage keeps the value for this page at least.
      const written = attempt(() => storage?.setItem(key, text) ?? true) !== undefined && Boolean(storage);
      if (written) memory.delete(key);
      else memory.set(key, text);
      return written;
    },
    remove(key) {
      memory.delete(key);
      attempt(() => storage?.removeItem(key));
    },
    keys: () => [...new Set([...(attempt(() => Object.keys(storage ?? {})) ?? []), ...memory.keys()])],
  };
}

/** A short, stable fingerprint of a text (FNV-1a, 32 bits, with the length), for keys that must change with it. */
export function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return `${(hash >>> 0).toString(16)}-${text.length.toString(16)}`;
}

const PROBE = "explorable/probe";

export function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
