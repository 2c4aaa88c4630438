// The filter of measured tables by device. Without this script every row is shown.
class Devices extends HTMLElement {
  connectedCallback() {
    if (!this.select) this.build();
    this.follow = () => this.apply();
    document.addEventListener("il-device", this.follow);
    this.apply();
  }

  disconnectedCallback() {
    document.removeEventListener("il-device", this.follow);
  }

  build() {
    this.rows = [...this.parentElement.querySelectorAll("tr[data-device]")];
    const names = new Map(this.rows.map((row) => [row.dataset.device, row.dataset.deviceName]));
    const label = document.createElement("label");
    this.select = document.createElement("select");
    this.select.append(new Option("all", ""), ...[...names].map(([slug, name]) => new Option(name, slug)));
    label.append("Measured on ", this.select);
    this.append(label);
    this.select.addEventListener("change", () => this.changed());
  }

  /** The reader chose: the address follows, so that the choice can be shared, and so do the other tables. */
  changed() {
    const address = new URL(location.href);
    if (this.select.value) address.searchParams.set("device", this.select.value);
    else address.searchParams.delete("device");
    history.replaceState(history.state, "", address);
    document.dispatchEvent(new Event("il-device"));
  }

  apply() {
    const asked = new URLSearchParams(location.search).get("device") ?? "";
    const known = [...this.select.options].some((option) => option.value === asked);
    this.select.value = known ? asked : "";
    for (const row of this.rows) row.hidden = this.select.value !== "" && row.dataset.device !== this.select.value;
  }
}

if (!customElements.get("il-devices")) customElements.define("il-devices", Devices);
