// One overlay: brokers where the server put them, links as wide as what they carry.
//
// shape: {nodes: [[name, x, y]], links: [[one, other, kind]], bend, rings}; kind is "", "added" or
// "removed". live: {nodes: [load 0..100], links: [load 0..100], dead: [index], told: [text]}; comes
// anew by load(). marks: {now, then: hops as pairs of indexes, wanted, relays: indexes}.
const SCALE = [[198, 222, 232], [133, 196, 201], [242, 207, 110], [236, 145, 80], [191, 47, 51]];
const NAMED_MAX = 40, SINGLE_MAX = 400, LEVELS = 5, INK = 60;
// How far a picture reaches from its middle, and how wide a letter is of its height.
const REACH = 1.14, LETTER = 0.58;

export default {
  template: `
    <div class="mw-graph">
      <svg ref="svg" :viewBox="box" tabindex="0" role="application" :aria-label="label"
           @keydown="key" @wheel.prevent="wheel" @pointerdown="grab" @pointermove="drag"
           @pointerup="drop" @pointerleave="drop" @dblclick="reset">
        <circle v-for="ring in shape.rings" class="mw-guide" cx="0" cy="0" :r="ring" />
        <path v-for="layer in layers" class="mw-link" :d="layer.d" :style="layer.style" />
        <path v-for="at in single" :key="at" :data-link="at" :d="curves[at]"
              :class="['mw-link', shape.links[at][2], { own: isLarge }]" :style="linkStyle(at)" />
        <path v-for="hop in thenHops" class="mw-hop then" :d="curve(hop[0], hop[1])" />
        <path v-for="hop in nowHops" class="mw-hop now" :d="curve(hop[0], hop[1])" />
        <g v-for="(node, at) in shape.nodes" :key="node[0]" :data-broker="node[0]"
           :class="nodeClass(at)" :transform="'translate(' + node[1] + ' ' + -node[2] + ')'"
           @click="pick(at)">
          <title>{{ told(at) }}</title>
          <circle class="mw-hit" :r="Math.max(radius(at), 0.035)" />
          <circle class="mw-body" :r="radius(at)" :style="{ fill: colour(at) }" />
          <text v-if="isNamed()" :x="nameX(at)" :y="nameY(at)" :text-anchor="anchor(at)"
                :font-size="fontSize">{{ node[0] }}</text>
        </g>
        <g v-if="picked >= 0" class="mw-picked" :transform="'translate(' + spot + ')'">
          <circle :r="radius(picked) * 1.5 + 0.008" />
          <text v-if="shape.nodes.length > 40" :x="-0.08 * Math.sign(shape.nodes[picked][1])"
                :text-anchor="shape.nodes[picked][1] > 0 ? 'end' : 'start'" y="0.02"
                font-size="0.055">{{ shape.nodes[picked][0] }}</text>
        </g>
      </svg>
    </div>`,
  props: { shape: Object, live: Object, marks: Object, label: String, chosen: String },
  data() {
    return { now: this.live, marked: this.marks || {}, named: this.chosen, zoom: 1, x: 0, y: 0,
      held: null, width: 480 };
  },
  mounted() {
    this.measure = () => { this.width = this.$refs.svg.clientWidth || 480; };
    this.measure();
    window.addEventListener("resize", this.measure);
  },
  unmounted() { window.removeEventListener("resize", this.measure); },
  watch: {
    chosen(name) { this.named = name; },
    live(value) { this.now = value; },
  },
  computed: {
    // The picked broker is known by its name, as its index is another one in another overlay.
    picked() { return this.shape.nodes.findIndex((node) => node[0] === this.named); },
    reach() {
      if (this.shape.nodes.length > NAMED_MAX) return REACH - 0.06;
      if (!this.shape.bend) return REACH + 0.1;
      const longest = Math.max(4, ...this.shape.nodes.map((node) => node[0].length));
      return Math.min(1.9, REACH + longest * this.fontSize * LETTER);
    },
    box() {
      const half = this.reach / this.zoom;
      return [this.x - half, this.y - half, 2 * half, 2 * half].join(" ");
    },
    curves() { return this.shape.links.map((link) => this.curve(link[0], link[1])); },
    isLarge() { return this.shape.links.length > SINGLE_MAX; },
    // Thousands of links are a few lines, one for each level of load: drawn at once, and where they
    // cross they do not add up to a blot.
    layers() {
      if (!this.isLarge) return [];
      const lines = Array(LEVELS).fill("");
      this.shape.links.forEach((link, at) => {
        const level = Math.min(LEVELS - 1, Math.floor(this.linkShare(at) * LEVELS));
        if (!link[2]) lines[level] += this.curves[at];
      });
      return lines.map((d, level) => ({
        d, style: { strokeWidth: 0.5 + 0.35 * level, strokeOpacity: 0.08 + 0.08 * level },
      }));
    },
    single() {
      const all = [...this.shape.links.keys()];
      if (!this.isLarge) return all;
      const isShown = (link) => link[2] || link[0] === this.picked || link[1] === this.picked;
      return all.filter((at) => isShown(this.shape.links[at]));
    },
    dead() { return new Set(this.now.dead); },
    wanted() { return new Set(this.marked.wanted || []); },
    relays() { return new Set(this.marked.relays || []); },
    nowHops() { return this.marked.now || []; },
    thenHops() { return this.marked.then || []; },
    onWay() { return new Set([...this.nowHops, ...this.thenHops].flat()); },
    isMarked() { return this.nowHops.length + this.thenHops.length + this.wanted.size > 0; },
    spot() { return `${this.shape.nodes[this.picked][1]} ${-this.shape.nodes[this.picked][2]}`; },
    room() {
      const count = this.shape.nodes.length;
      const free = this.shape.bend ? 4.6 / count : 0.42 / Math.sqrt(count);
      return Math.min(0.075, Math.max(0.008, free));
    },
    fontSize() {
      const size = this.shape.nodes.length <= 16 ? 0.06 : 0.045;
      return size * Math.min(1.6, Math.max(1, 480 / this.width));
    },
  },
  methods: {
    load(live) { this.now = live; },
    mark(marks) { this.marked = marks; },
    curve(one, other) {
      const [, x, y] = this.shape.nodes[one];
      const [, u, v] = this.shape.nodes[other];
      const stay = 1 - this.shape.bend;
      return `M${x} ${-y}Q${((x + u) / 2) * stay} ${(-(y + v) / 2) * stay} ${u} ${-v}`;
    },
    share(at) { return (this.now.nodes[at] || 0) / 100; },
    linkShare(at) { return (this.now.links[at] || 0) / 100; },
    radius(at) { return this.room * (0.62 + 0.5 * this.share(at)); },
    colour(at) {
      if (this.dead.has(at)) return "transparent";
      const place = Math.min(this.share(at), 0.999) * (SCALE.length - 1);
      const low = SCALE[Math.floor(place)], high = SCALE[Math.floor(place) + 1];
      const mixed = low.map((part, i) => Math.round(part + (high[i] - part) * (place % 1)));
      return `rgb(${mixed.join(",")})`;
    },
    linkStyle(at) {
      if (this.isLarge || this.shape.links[at][2]) return {};
      const share = this.linkShare(at);
      // The more links there are, the less ink each may take, or nothing is seen of any.
      const ink = Math.min(1, INK / (this.shape.links.length + 1));
      const strokeOpacity = (0.3 + 0.7 * share) * 0.85 * ink ** 0.45;
      return { strokeWidth: 0.6 + 0.3 * ink + 5.3 * ink * share, strokeOpacity };
    },
    nodeClass(at) {
      return ["mw-node", {
        dead: this.dead.has(at), picked: at === this.picked, wanted: this.wanted.has(at),
        relay: this.relays.has(at),
        quiet: this.isMarked && ![this.wanted, this.relays, this.onWay].some((one) => one.has(at)),
      }];
    },
    told(at) { return this.shape.nodes[at][0] + ": " + (this.now.told[at] || ""); },
    isNamed() { return this.shape.nodes.length <= NAMED_MAX; },
    isOutside(at) {
      const [, x, y] = this.shape.nodes[at];
      return this.shape.bend > 0 && x * x + y * y > 0.9;
    },
    nameX(at) { return this.isOutside(at) ? this.shape.nodes[at][1] * 0.12 : 0; },
    nameY(at) {
      if (!this.isOutside(at)) return this.radius(at) + this.fontSize;
      return -this.shape.nodes[at][2] * 0.12 + this.fontSize / 3;
    },
    anchor(at) {
      const x = this.shape.nodes[at][1];
      if (!this.isOutside(at) || Math.abs(x) < 0.3) return "middle";
      return x > 0 ? "start" : "end";
    },
    pick(at) {
      this.named = this.shape.nodes[at][0];
      this.$emit("pick", this.named);
    },
    key(event) {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      const count = this.shape.nodes.length;
      if (event.key in steps && count) {
        const step = steps[event.key], from = this.picked < 0 && step < 0 ? 0 : this.picked;
        this.named = this.shape.nodes[(from + step + count) % count][0];
      } else if (event.key === "Enter" && this.picked >= 0) {
        this.pick(this.picked);
      } else if (event.key === "+" || event.key === "-") {
        this.zoomBy(event.key === "+" ? 1.25 : 0.8);
      } else if (event.key === "0") {
        this.reset();
      } else {
        return;
      }
      event.preventDefault();
    },
    wheel(event) { this.zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15); },
    zoomBy(factor) { this.zoom = Math.min(12, Math.max(1, this.zoom * factor)); this.hold(); },
    hold() {
      const free = this.reach * (1 - 1 / this.zoom);
      this.x = Math.min(free, Math.max(-free, this.x));
      this.y = Math.min(free, Math.max(-free, this.y));
    },
    reset() { this.zoom = 1; this.x = 0; this.y = 0; },
    grab(event) { this.held = [event.clientX, event.clientY]; },
    drag(event) {
      if (!this.held || this.zoom === 1) return;
      const scale = (2 * this.reach) / this.zoom / this.$refs.svg.clientWidth;
      this.x -= (event.clientX - this.held[0]) * scale;
      this.y -= (event.clientY - this.held[1]) * scale;
      this.held = [event.clientX, event.clientY];
      this.hold();
    },
    drop() { this.held = null; },
  },
};
