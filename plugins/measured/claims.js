// The filter of the claims page. Without it every claim is shown.
class Claims extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.output = this.querySelector("output");
    this.rows = [...this.querySelectorAll("tr[data-verdict]")];
    this.form.hidden = false;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", () => this.apply());
    // A form resets its fields after the event.
    this.form.addEventListener("reset", () => setTimeout(() => this.apply()));
    const asked = new URLSearchParams(location.search);
    this.source = asked.get("source") ?? "";
    for (const field of this.form.querySelectorAll("select")) field.value = asked.get(field.name) ?? "";
    this.reveal = () => this.showTarget();
    addEventListener("hashchange", this.reveal);
    this.apply();
    this.showTarget();
  }

  disconnectedCallback() {
    removeEventListener("hashchange", this.reveal);
  }

  apply() {
    const { verdict, section, evidence } = Object.fromEntries(new FormData(this.form));
    if (!verdict && !section && !evidence) this.source = "";
    let shown = 0;
    for (const row of this.rows) {
      const part = row.closest("section");
      const fits =
        (!verdict || row.dataset.verdict === verdict) &&
        (!evidence || row.dataset.evidence === evidence) &&
        (!section || part.dataset.section === section) &&
        (!this.source || part.dataset.source === this.source);
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    for (const part of this.querySelectorAll("section")) {
      part.hidden = !part.querySelector("tr[data-verdict]:not([hidden])");
    }
    for (const head of this.querySelectorAll(".il-claims__source")) {
      head.hidden = !this.querySelector(`section[data-source="${head.dataset.source}"]:not([hidden])`);
    }
    this.output.textContent = `${shown} of ${this.rows.length} claims`;
  }

  // A link to a claim must reach it, whatever the filter says.
  showTarget() {
    const row = this.rows.find((one) => `#${one.id}` === location.hash);
    if (!row) return;
    if (row.hidden) {
      for (const field of this.form.querySelectorAll("select")) field.value = "";
      this.apply();
      row.scrollIntoView();
    }
  }
}

if (!customElements.get("il-claims")) customElements.define("il-claims", Claims);
