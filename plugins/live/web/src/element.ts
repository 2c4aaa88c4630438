// The one lifecycle of everything live on the page: ready, onscreen, offscreen, gone.

/** What a custom element delegates to. It is made when the element is connected and its code has arrived. */
export interface Part {
  onscreen(): void;
  offscreen(): void;
  gone(): void;
}

export type Mount = (host: HTMLElement) => Part;

/** Registers a custom element whose code is fetched when the first one is connected. */
export function define(tag: string, load: () => Promise<Mount>): void {
  if (customElements.get(tag)) return;

  class LiveElement extends HTMLElement {
    #part: Part | undefined;
    #watch: IntersectionObserver | undefined;
    #wanted = false;

    connectedCallback(): void {
      if (this.#wanted) return;
      this.#wanted = true;
      void load().then(
        (mount) => {
          if (this.isConnected && !this.#part) this.#begin(mount(this));
        },
        (reason: unknown) => {
          this.#wanted = false;
          this.dataset.broken = "true";
          console.error(`iron law: the code of <${tag}> did not load; the page stays as baked.`, reason);
        },
      );
    }

    disconnectedCallback(): void {
      // A move inside the document disconnects and connects at once: only a lasting absence ends the part.
      queueMicrotask(() => {
        if (this.isConnected) return;
        this.#watch?.disconnect();
        this.#part?.gone();
        this.#part = undefined;
        this.#wanted = false;
      });
    }

    #begin(part: Part): void {
      this.#part = part;
      this.dataset.ready = "true";
      this.#watch = new IntersectionObserver((entries) => {
        const visible = entries.at(-1)?.isIntersecting ?? false;
        if (visible) part.onscreen();
        else part.offscreen();
      });
      this.#watch.observe(this);
    }
  }

  customElements.define(tag, LiveElement);
}
