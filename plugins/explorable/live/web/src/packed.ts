// Text in the fragment of an address, which no server sees: packed, and unpacked with a limit.

/** Why a text could not be unpacked: a part is missing or was changed, or it unfolds to more than is allowed. */
export class Unpackable extends Error {
  constructor(readonly because: "damaged" | "too long") {
    super(because);
  }
}

/** The text in letters that an address can hold. */
export async function packed(text: string): Promise<string> {
  const stream = through(new Blob([text]), new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text again. Rejects with `Unpackable` when it has more than `most` characters. */
export async function unpacked(letters: string, most: number): Promise<string> {
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    return await readAll(through(new Blob([bytes]), new DecompressionStream("deflate-raw")), most);
  } catch (error) {
    throw error instanceof Unpackable ? error : new Unpackable("damaged");
  }
}

async function readAll(stream: ReadableStream<Uint8Array>, most: number): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > most) {
      void reader.cancel();
      throw new Unpackable("too long");
    }
  }
}

function through(blob: Blob, transform: CompressionStream | DecompressionStream): ReadableStream<Uint8Array> {
  return blob.stream().pipeThrough(transform as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
}
