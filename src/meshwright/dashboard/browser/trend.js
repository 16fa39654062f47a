// Some figures over time: lines, the highest value as the scale, and what was under the pointer.
//
// names: of the lines. points: [[seconds, value, ...]], oldest first; more of them come by push().
const WIDTH = 300, HEIGHT = 80, POINTS_MAX = 720;

export default {
  template: `
    <figure class="mw-trend" @pointermove="look" @pointerleave="at = -1">
      <svg :viewBox="'0 0 ${WIDTH} ${HEIGHT}'" preserveAspectRatio="none" aria-hidden="true">
        <line class="mw-zero" x1="0" :x2="${WIDTH}" :y1="${HEIGHT} - 1" :y2="${HEIGHT} - 1" />
        <path v-for="(line, index) in lines" :class="'mw-line line-' + index" :d="line" />
        <line v-if="at >= 0" class="mw-cursor" :x1="x(at)" :x2="x(at)" y1="0" :y2="${HEIGHT}" />
      </svg>
      <figcaption>
        <span>{{ said }}</span>
        <span v-if="names.length > 1" class="mw-legend">
          <i v-for="(name, index) in names" :class="'line-' + index">{{ name }}</i>
        </span>
      </figcaption>
    </figure>`,
  props: { names: Array, points: Array, unit: String },
  data() { return { kept: this.points, at: -1 }; },
  watch: { points(value) { this.kept = value; } },
  computed: {
    highest() {
      return Math.max(0, ...this.kept.flatMap((point) => point.slice(1)));
    },
    lines() {
      return this.names.map((_, index) => {
        let path = "", isBroken = true;
        this.kept.forEach((point, at) => {
          const value = point[index + 1];
          if (value === null) { isBroken = true; return; }
          const y = HEIGHT - 1 - (value / (this.highest || 1)) * (HEIGHT - 8);
          path += `${isBroken ? "M" : "L"}${this.x(at).toFixed(1)} ${y.toFixed(1)}`;
          isBroken = false;
        });
        return path;
      });
    },
    said() {
      if (!this.kept.length) return "nothing yet";
      const isKnown = this.kept.some((point) => point.slice(1).some((one) => one !== null));
      if (!isKnown) return "not known";
      if (this.at < 0) return `${this.span} · at most ${this.number(this.highest)}${this.unit}`;
      const [seconds, ...values] = this.kept[this.at];
      const time = new Date(seconds * 1000).toLocaleTimeString();
      const told = values.map((one) => (one === null ? "–" : this.number(one))).join(" / ");
      return `${time}: ${told}${this.unit}`;
    },
    span() {
      const seconds = this.kept[this.kept.length - 1][0] - this.kept[0][0];
      if (seconds < 90) return `last ${Math.round(seconds)} s`;
      return `last ${Math.round(seconds / 60)} min`;
    },
  },
  methods: {
    push(points) { this.kept = [...this.kept, ...points].slice(-POINTS_MAX); },
    x(at) { return this.kept.length < 2 ? 0 : (at / (this.kept.length - 1)) * WIDTH; },
    number(value) {
      if (value >= 100) return Math.round(value).toLocaleString("en");
      return String(Number(value.toPrecision(3)));
    },
    look(event) {
      const box = event.currentTarget.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      this.at = this.kept.length ? Math.round(share * (this.kept.length - 1)) : -1;
    },
  },
};
