// The filter and the folds of the claims page. Without this script every claim is shown.
class Claims extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.output = this.querySelector("output");
    this.opener = this.querySelector("button[aria-pressed]");
    this.rows = [...this.querySelectorAll("tr[data-verdict]")];
    // What a reader can look for in a row, by its words.
    this.texts = new Map(this.rows.map((row) => [row, row.textContent.toLowerCase()]));
    this.parts = [...this.querySelectorAll("section[data-section]")];
    this.form.hidden = false;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", () => this.changed());
    this.form.addEventListener("input", () => this.apply());
    // A form resets its fields after the event.
    this.form.addEventListener("reset", () => setTimeout(() => this.changed()));
    this.opener.addEventListener("click", () => this.fold(this.allOpen()));
    this.reveal = () => this.showTarget();
    this.unfold = () => this.fold(false);
    addEventListener("hashchange", this.reveal);
    addEventListener("beforeprint", this.unfold);
    const asked = new URLSearchParams(location.search);
    for (const field of this.fields()) field.value = asked.get(field.name) ?? "";
    this.apply();
    this.showTarget();
  }

  disconnectedCallback() {
    removeEventListener("hashchange", this.reveal);
    removeEventListener("beforeprint", this.unfold);
  }

  fields() {
    return [...this.form.querySelectorAll("select, input")];
  }

  /** The reader chose: the address follows, so that the choice can be shared. */
  changed() {
    const address = new URL(location.href);
    for (const { name, value } of this.fields()) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    history.replaceState(history.state, "", address);
    this.apply();
  }

  apply() {
    const { verdict, section, evidence, words } = Object.fromEntries(new FormData(this.form));
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const part of this.parts) {
      const here = !section || [part.dataset.section, part.dataset.source].includes(section);
      let some = false;
      for (const row of part.querySelectorAll("tr[data-verdict]")) {
        const fits =
          here &&
          (!verdict || row.dataset.verdict === verdict) &&
          (!evidence || row.dataset.evidence === evidence) &&
          wanted.every((word) => this.texts.get(row).includes(word));
        row.hidden = !fits;
        some ||= fits;
        shown += Number(fits);
      }
      part.hidden = !some;
    }
    for (const head of this.querySelectorAll(".il-claims__source")) {
      head.hidden = !this.parts.some((part) => !part.hidden && part.dataset.source === head.dataset.source);
    }
    // Who asked for something sees it; the whole list starts as an overview.
    this.fold(!(verdict || section || evidence || wanted.length));
    this.output.textContent = `${shown} of ${this.rows.length} claims`;
  }

  allOpen() {
    return this.parts.every((part) => part.hidden || part.querySelector("details").open);
  }

  fold(folded) {
    for (const part of this.parts) part.querySelector("details").open = !folded;
    this.opener.setAttribute("aria-pressed", String(!folded));
  }

  /** A link to a claim or a section must reach it, whatever is filtered or folded. */
  showTarget() {
    const target = location.hash.length > 1 && this.querySelector(`#${CSS.escape(location.hash.slice(1))}`);
    const part = target && target.closest("section[data-section]");
    if (!part) return;
    if (part.hidden || target.hidden) {
      for (const field of this.fields()) field.value = "";
      this.changed();
    }
    part.querySelector("details").open = true;
    target.scrollIntoView();
  }
}

if (!customElements.get("il-claims")) customElements.define("il-claims", Claims);
