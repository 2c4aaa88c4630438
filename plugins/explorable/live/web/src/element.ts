// The one lifecycle of everything live on the page: ready, onscreen, offscreen, gone.
import { perhapsTooOld, servedBuild } from "./release";
import { showTrouble } from "./python/status";

/** Milliseconds after which the reader is told that an element's code is still on its way. */
const LATE_MS = 3000;
/** What a reader may press before the element's code is there: it is pressed again then. */
const RUN = 'button[data-action^="run"]';
const LIVE = "live-act, live-exercise, live-snippet";

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
    #pressed: HTMLButtonElement | null = null;

    readonly #press = (event: Event): void => {
      const button = (event.target as Element).closest<HTMLButtonElement>(RUN);
      // A part may hold another, whose buttons are its own.
      if (!button || this.#part || (button.closest(LIVE) ?? this) !== this) return;
      this.#pressed?.removeAttribute("aria-busy");
      this.#pressed = button;
      button.setAttribute("aria-busy", "true");
      this.#announce("It runs as soon as its program is here.");
    };

    connectedCallback(): void {
      if (this.#wanted) return;
      this.#wanted = true;
      // The page's head says it of the address with which the document came; instant navigation brings others.
      document.documentElement.toggleAttribute("data-state-linked", location.hash.startsWith("#state="));
      this.addEventListener("click", this.#press);
      const late = setTimeout(() => this.#trouble("The program of this part has not arrived yet."), LATE_MS);
      void load()
        .finally(() => clearTimeout(late))
        .then(
          (mount) => {
            this.#trouble(null);
            if (this.isConnected && !this.#part) this.#begin(mount(this));
          },
          (reason: unknown) => {
            this.#wanted = false;
            this.#forget();
            this.dataset.broken = "true";
            console.error(`explorable: the code of <${tag}> did not load; the page stays as baked.`, reason);
            this.#trouble("The program of this part could not be downloaded.");
            void perhapsTooOld();
          },
        );
    }

    #announce(text: string): void {
      const place = this.querySelector('[data-slot="announce"]');
      if (place) place.textContent = text;
    }

    /** What was pressed before, of which nothing is to come any more. */
    #forget(): HTMLButtonElement | null {
      const pressed = this.#pressed;
      this.#pressed = null;
      if (pressed) this.#announce("");
      pressed?.removeAttribute("aria-busy");
      return pressed;
    }

    /** A browser does not load a module again that once failed, so Retry reloads the page; without a network it would lose the page. */
    #trouble(message: string | null): void {
      const shown = this.querySelector<HTMLElement>(":scope > [data-il-late]");
      const place = shown ?? document.createElement("div");
      if (!shown && message !== null) {
        place.className = "il-trouble";
        place.dataset.ilLate = "";
        place.setAttribute("role", "alert");
        this.prepend(place);
      }
      showTrouble(place, message, () => void retry(place));
      if (message === null) place.remove();
    }

    disconnectedCallback(): void {
      // A move inside the document disconnects and connects at once: only a lasting absence ends the part.
      queueMicrotask(() => {
        if (this.isConnected) return;
        this.#watch?.disconnect();
        this.#part?.gone();
        this.#part = undefined;
        this.#wanted = false;
        this.#forget();
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
      this.#forget()?.click();
    }
  }

  customElements.define(tag, LiveElement);
}

async function retry(place: HTMLElement): Promise<void> {
  if ((await servedBuild()) !== null) return location.reload();
  showTrouble(place, "The site cannot be reached now.", () => void retry(place));
}
