// Drags a mark of a chart, or the handle of a question's scale, back and forth, and times each move until the chart has followed.
// @ts-check

/** How long to wait for a redraw before a move counts as one that changed no value. */
const STILL_MS = 1000;

/**
 * Milliseconds from each move of the pointer to the redrawn mark, Python included. Moves that change no value are left out.
 * @param {import("../../tests/browser/harness/browser.mjs").Browser} browser
 * @param {{plot: string, grip: string, mark: string}} what  selectors: chart, grip or scale, and the marks below the chart
 * @param {number} moves
 * @returns {Promise<number[]>}
 */
export function dragTimes(browser, what, moves) {
  return browser.eval(
    async (what, moves, stillMs) => {
      const plot = /** @type {Element} */ (document.querySelector(what.plot));
      const grip = /** @type {Element} */ (document.querySelector(what.grip));
      const mark = () => plot.querySelector(what.mark)?.innerHTML;
      grip.scrollIntoView({ block: "center", behavior: "instant" });
      const box = grip.getBoundingClientRect();
      const at = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, pointerId: 7, button: 0, bubbles: true };
      const scale = grip instanceof HTMLInputElement ? grip : null;
      if (!scale) grip.dispatchEvent(new PointerEvent("pointerdown", at));
      const times = [];
      for (let move = 1; move <= moves; move += 1) {
        const before = mark();
        /** @type {Promise<number | null>} */
        const redrawn = new Promise((done) => {
          const watch = new MutationObserver(() => mark() !== before && end(performance.now()));
          const end = (/** @type {number | null} */ at) => {
            watch.disconnect();
            done(at);
          };
          watch.observe(plot, { attributes: true, subtree: true, childList: true });
          setTimeout(() => end(null), stillMs);
        });
        // Back and forth between twenty places, so that no move goes to the place where the pointer is.
        const far = (move % 2 ? 20 : 70) + (move % 20);
        const start = performance.now();
        if (scale) {
          scale.value = String(Number(scale.min) + (far / 100) * (Number(scale.max) - Number(scale.min)));
          scale.dispatchEvent(new Event("input", { bubbles: true }));
        } else grip.dispatchEvent(new PointerEvent("pointermove", { ...at, clientX: at.clientX + far, clientY: at.clientY - far }));
        const end = await redrawn;
        if (end !== null) times.push(end - start);
        await new Promise((done) => setTimeout(done, 30));
      }
      if (scale) scale.dispatchEvent(new Event("change", { bubbles: true }));
      else grip.dispatchEvent(new PointerEvent("pointerup", at));
      return times;
    },
    what,
    moves,
    STILL_MS,
  );
}

/** Milliseconds without any change after which an answer counts as whole. */
const QUIET_MS = 70;
/** How long to wait for a change before a move counts as one that changed nothing on the page. */
const NOTHING_MS = 600;

/**
 * Milliseconds from each move of a slider's hand to the last change of what the page shows of it, each move to another place. The hand goes once over the whole
 * slider and does not let go before the end. Moves that change nothing are left out.
 * @param {import("../../tests/browser/harness/browser.mjs").Browser} browser
 * @param {string} slider  selector of the range input
 * @param {readonly string[]} shown  selectors of what changes: the number, the picture
 * @param {number} moves
 * @returns {Promise<number[]>}
 */
export function slideTimes(browser, slider, shown, moves) {
  return browser.eval(
    async (slider, shown, moves, quietMs, nothingMs) => {
      const input = /** @type {HTMLInputElement} */ (document.querySelector(slider));
      const places = shown.map((selector) => /** @type {Element} */ (document.querySelector(selector)));
      input.scrollIntoView({ block: "center", behavior: "instant" });
      const [first, last] = [Number(input.min), Number(input.max)];
      const times = [];
      for (let move = 1; move <= moves; move += 1) {
        let changed = 0;
        const watch = new MutationObserver(() => (changed = performance.now()));
        for (const place of places) watch.observe(place, { attributes: true, characterData: true, childList: true, subtree: true });
        input.value = String(Math.round(first + ((last - first) * move) / moves));
        const start = performance.now();
        input.dispatchEvent(new Event("input", { bubbles: true }));
        while (performance.now() - Math.max(start, changed) < (changed ? quietMs : nothingMs)) await new Promise((done) => setTimeout(done, 5));
        watch.disconnect();
        if (changed) times.push(changed - start);
      }
      input.dispatchEvent(new Event("change", { bubbles: true }));
      return times;
    },
    slider,
    shown,
    moves,
    QUIET_MS,
    NOTHING_MS,
  );
}

/** The value below which a share of the values lies. @param {number[]} values @param {number} share */
export function quantile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
