// Draws the fabric with its trees on a canvas, at the level of detail that the zoom allows, and moves about in it.
import { CELL, layout } from './layout.js';
import { palette, treeColor, treeDash } from './colors.js';
import { say, many } from './dom.js';

const kNameFrom = 0.62, kCellFrom = 0.05, kLanesFrom = 0.16, kZoomMax = 3;

export class FabricCanvas {
  constructor(canvas, { onSelect, onOpen, tip, said }) {
    Object.assign(this, { canvas, onSelect, onOpen, tip, said });
    this.context = canvas.getContext('2d');
    this.view = { x: 0, y: 0, zoom: 1 };
    this.selected = null;
    this.job = null;
    this.hidden = new Set(); // trees that are not drawn
    this.jobsOn = new Map();
    this.fitted = true;
    this.pointers = new Map();
    new ResizeObserver(() => this.resized()).observe(canvas);
    this.listen();
  }

  resized() {
    const box = this.canvas.getBoundingClientRect(), aspect = box.width / box.height;
    if (this.plan && box.height && Math.abs(Math.log(aspect / this.aspect)) > 0.4) { // Turned, or another window: another shape fits better.
      this.arrange();
      this.fitted = true;
    }
    if (this.fitted) this.fit();
    else this.redraw();
  }

  arrange() {
    const box = this.canvas.getBoundingClientRect();
    this.aspect = box.height ? box.width / box.height : 1.9;
    this.plan = layout(this.fabric, this.aspect);
    this.lanes = this.lanesOfBlocks();
  }

  setFabric(fabric) {
    const changed = !this.fabric || JSON.stringify(fabric.switches) !== JSON.stringify(this.fabric.switches) || fabric.hosts.length !== this.fabric.hosts.length;
    this.fabric = fabric;
    this.arrange();
    this.nodesAt = new Map(); // switch -> nodes
    fabric.nodes.forEach((node, index) => {
      if (node.up === false && !fabric.trees.some((tree) => tree.parents?.[index] != null)) return;
      if (node.switch == null) return;
      if (!this.nodesAt.has(node.switch)) this.nodesAt.set(node.switch, []);
      this.nodesAt.get(node.switch).push(index);
    });
    if (changed && this.selected && this.selected.kind !== 'job') this.selected = null;
    if (changed && this.fitted) this.fit();
    else this.redraw();
  }

  setState(state) {
    this.state = state;
    this.jobsOn = new Map(state.host_jobs);
    this.redraw();
  }

  /** Shows one job's hosts and its part of the trees; null: no job. */
  setJob(job) {
    this.job = job && { ...job, hostSet: new Set(job.host_list), shares: job.shares };
    this.redraw();
  }

  setHidden(hidden) { this.hidden = hidden; this.redraw(); }

  /** For each block: the trees that serve its hosts, and by which node and port, with the number of hosts. */
  lanesOfBlocks() {
    return this.plan.blocks.map((block) => {
      const lanes = new Map();
      this.fabric.trees.forEach((tree, number) => {
        if (tree.lost) return;
        for (const host of block.hosts) {
          const leaf = tree.leaf_of_host[host];
          if (leaf == null) continue;
          const port = this.fabric.hosts[host].ports[tree.port_of_host[host] ?? 0];
          const key = `${number} ${leaf} ${port}`;
          if (!lanes.has(key)) lanes.set(key, { tree: number, leaf, port, hosts: [] });
          lanes.get(key).hosts.push(host);
        }
      });
      return [...lanes.values()];
    });
  }

  // ---- geometry

  nodePlace(index) {
    const node = this.fabric.nodes[index];
    if (node.host != null) {
      const cell = this.plan.cells[node.host];
      return cell && { x: cell.x + CELL.width - 9, y: cell.y + CELL.height / 2, side: 1 };
    }
    const bar = this.plan.switches[node.switch];
    if (!bar) return null;
    const place = this.nodesAt.get(node.switch)?.indexOf(index) ?? -1;
    return place < 0 ? null : { x: bar.x + 16 + place * 26, y: bar.y + bar.height / 2, side: bar.side };
  }

  visible(box) {
    const { x, y, zoom } = this.view;
    return box.x < x + this.width / zoom && box.x + box.width > x && box.y < y + this.height / zoom && box.y + box.height > y;
  }

  // ---- drawing

  redraw() {
    if (this.waiting || !this.fabric) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    const ratio = devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    if (box.width === 0) return;
    this.width = box.width;
    this.height = box.height;
    if (this.canvas.width !== Math.round(box.width * ratio)) this.canvas.width = Math.round(box.width * ratio);
    if (this.canvas.height !== Math.round(box.height * ratio)) this.canvas.height = Math.round(box.height * ratio);
    const c = this.context, { x, y, zoom } = this.view;
    this.colors = palette();
    this.drawn = { hosts: 0, links: 0, trees: new Set(), nodes: 0, switches: 0 };
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = this.colors.back;
    c.fillRect(0, 0, box.width, box.height);
    c.setTransform(ratio * zoom, 0, 0, ratio * zoom, -x * ratio * zoom, -y * ratio * zoom);
    this.px = 1 / zoom; // one pixel of the screen
    this.drawLinks(c);
    this.drawTrees(c);
    this.drawHosts(c);
    this.drawSwitches(c);
    this.drawNodes(c);
    this.drawJob(c);
    this.drawSelection(c);
    const trees = this.fabric.trees.filter((tree) => !tree.lost).length;
    this.canvas.setAttribute('aria-label',
      `Fabric: ${many(this.fabric.hosts.length, 'host')}, ${many(this.fabric.switches.length, 'switch', 'switches')}, ${many(this.fabric.nodes.length, 'node')}, ${many(trees, 'tree')}`);
    // For tests: how much was drawn, and when first.
    const seen = this.canvas.dataset;
    seen.hosts = this.drawn.hosts;
    seen.links = this.drawn.links;
    seen.trees = this.drawn.trees.size;
    seen.nodes = this.drawn.nodes;
    seen.switches = this.drawn.switches;
    if (this.state && !seen.first) seen.first = Math.round(performance.now());
  }

  share(index) {
    const node = this.state?.nodes[index];
    if (!node?.registered || !node.osts) return 0;
    return Math.min(1, Math.max(0, ...node.trees.map((part) => part.osts_granted / node.osts)));
  }

  linkShare(index) {
    return Math.min(1, (this.state?.link_osts[index] ?? 0) / this.mostOsts);
  }

  drawLinks(c) {
    this.mostOsts = Math.max(1, ...(this.state?.nodes ?? []).map((node) => node.osts ?? 0));
    const twin = new Map();
    const dense = this.plan.dense;
    this.fabric.links.forEach((link, index) => {
      if (link.up === false || link.a == null || link.b == null) return;
      let low = this.plan.switches[link.a], high = this.plan.switches[link.b];
      if (!low || !high) return;
      ++this.drawn.links;
      const key = Math.min(link.a, link.b) * 65536 + Math.max(link.a, link.b);
      const nth = twin.get(key) ?? 0;
      twin.set(key, nth + 1);
      const chosen = this.selected?.kind === 'link' && this.selected.index === index;
      const share = this.linkShare(index);
      c.strokeStyle = chosen ? this.colors.accent : this.colors.link;
      c.lineWidth = (chosen ? 3 : dense ? 0.6 : 1.2 + 5 * share) * Math.max(this.px, 0.7);
      c.globalAlpha = dense && !chosen ? 0.35 : 1;
      c.beginPath();
      this.path(c, low, high, (nth % 2 ? -1 : 1) * Math.ceil(nth / 2) * 5);
      c.stroke();
    });
    c.globalAlpha = 1;
  }

  /** A line between two switches: from the edge of one to the edge of the other. */
  path(c, a, b, shift = 0, aX = a.x + a.width / 2, bX = b.x + b.width / 2) {
    const down = b.y > a.y;
    const same = Math.abs(b.y - a.y) < 1;
    const ay = same ? a.y : down ? a.y + a.height : a.y, by = same ? b.y : down ? b.y : b.y + b.height;
    c.moveTo(aX + shift, ay);
    if (this.plan.wrapped) this.bus(c, aX + shift, ay, bX + shift, by, shift);
    else if (same) c.quadraticCurveTo((aX + bX) / 2, ay - 40, bX + shift, by);
    else c.bezierCurveTo(aX + shift, (ay + by) / 2, bX + shift, (ay + by) / 2, bX + shift, by);
  }

  /** With rows of blocks, lines run in the space over their row and then up beside the blocks. */
  bus(c, ax, ay, bx, by, shift) {
    const [high, low] = ay < by ? [[ax, ay], [bx, by]] : [[bx, by], [ax, ay]];
    const lane = low[1] - 18 - shift, gutter = this.plan.bounds.x + 14 + shift, top = this.plan.rowTop[0] - 18 - shift;
    const points = low[1] - 40 > top && this.plan.rowTop.length > 1 ? [[low[0], lane], [gutter, lane], [gutter, top], [high[0], top]] : [[low[0], lane], [high[0], lane]];
    const all = [low, ...points, high];
    c.moveTo(...all[0]);
    for (const point of all.slice(1)) c.lineTo(...point);
  }

  drawTrees(c) {
    const count = this.fabric.trees.length;
    this.fabric.trees.forEach((tree, number) => {
      if (tree.lost || this.hidden.has(number)) return;
      this.drawn.trees.add(number);
      const shift = (number - (count - 1) / 2) * 6;
      c.strokeStyle = treeColor(number);
      c.setLineDash(treeDash(number).map((part) => part * this.px));
      c.lineWidth = (this.plan.dense ? 1.4 : 2.2) * Math.max(this.px, this.plan.dense ? 0.5 : 0.9);
      c.globalAlpha = this.job ? 0.25 : this.plan.dense ? 0.55 : 0.95;
      c.beginPath();
      tree.parents.forEach((parent, child) => { if (parent != null && parent >= 0) this.hop(c, tree, child, parent, shift); });
      c.stroke();
    });
    c.setLineDash([]);
    c.globalAlpha = 1;
  }

  /** The path of a hop from node to node, over the switches of its route. */
  hop(c, tree, child, parent, shift) {
    const barOf = (index) => {
      const node = this.fabric.nodes[index];
      return node.host != null ? this.plan.switches[this.fabric.hosts[node.host].ports[0]] : this.plan.switches[node.switch];
    };
    const from = this.nodePlace(child), to = this.nodePlace(parent);
    if (!from || !to) return;
    let at = this.fabric.nodes[child].switch ?? this.fabric.hosts[this.fabric.nodes[child].host]?.ports[0];
    const bars = [barOf(child)];
    for (const index of tree.routes[child] ?? []) {
      const link = this.fabric.links[index];
      at = link.a === at ? link.b : link.a;
      if (this.plan.switches[at]) bars.push(this.plan.switches[at]);
    }
    if (bars.length < 2) {
      if (!bars[0]) return;
      c.moveTo(from.x, from.y); // Both nodes are at one switch, or on its hosts.
      c.quadraticCurveTo((from.x + to.x) / 2 + shift, Math.min(from.y, to.y) - 14, to.x, to.y);
      return;
    }
    const start = this.fabric.nodes[child].host != null ? from : { x: from.x };
    if (this.fabric.nodes[child].host != null) { c.moveTo(start.x, start.y); c.lineTo(start.x, bars[0].y); }
    for (let i = 0; i + 1 < bars.length; ++i) {
      const fromX = i === 0 ? from.x : bars[i].x + bars[i].width / 2 + shift, toX = i + 2 === bars.length ? to.x : bars[i + 1].x + bars[i + 1].width / 2 + shift;
      this.path(c, bars[i], bars[i + 1], this.plan.wrapped ? shift : 0, fromX + (this.plan.wrapped ? 0 : shift), toX + (this.plan.wrapped ? 0 : shift));
    }
  }

  drawHosts(c) {
    const zoom = this.view.zoom;
    const withLanes = zoom >= kLanesFrom, withNames = zoom >= kNameFrom, withCells = zoom >= kCellFrom;
    const state = this.state;
    this.plan.blocks.forEach((block, number) => {
      if (!this.visible(block)) { this.drawn.hosts += block.hosts.length; this.drawn.links += block.hosts.length; return; }
      c.fillStyle = this.colors.panel;
      c.fillRect(block.x, block.y, block.width, block.height + 8);
      if (!withCells) return this.drawCrowd(c, block);
      if (withLanes) this.drawLanes(c, block, number);
      c.lineWidth = Math.max(this.px, 0.8);
      for (const host of block.hosts) {
        const cell = this.plan.cells[host];
        ++this.drawn.hosts;
        ++this.drawn.links;
        const jobs = this.jobsOn.get(host) ?? 0, here = state?.sharpds[host] === '1';
        c.globalAlpha = this.job && !this.job.hostSet.has(host) ? 0.35 : 1;
        c.fillStyle = jobs ? this.colors.busy : here ? this.colors.host : this.colors.back;
        c.fillRect(cell.x, cell.y, CELL.width, CELL.height);
        if (zoom > 0.25) {
          c.strokeStyle = here || !state ? this.colors.hostEdge : this.colors.bad;
          c.setLineDash(here || !state ? [] : [3, 3]);
          c.strokeRect(cell.x, cell.y, CELL.width, CELL.height);
        }
      }
      c.setLineDash([]);
      c.globalAlpha = 1;
      if (!withNames) return;
      c.font = '12px system-ui, sans-serif';
      c.textBaseline = 'middle';
      for (const host of block.hosts) {
        const cell = this.plan.cells[host];
        if (!this.visible({ x: cell.x, y: cell.y, width: CELL.width, height: CELL.height })) continue;
        c.fillStyle = this.jobsOn.get(host) ? this.colors.busyText : this.colors.text;
        c.fillText(short(c, this.fabric.hosts[host].name, CELL.width - 12), cell.x + 6, cell.y + CELL.height / 2 + 1);
      }
    });
  }

  /** The whole block as one area, filled by the part of its hosts that have jobs. */
  drawCrowd(c, block) {
    const busy = block.hosts.filter((host) => this.jobsOn.has(host)).length / block.hosts.length;
    const height = block.height - 30;
    c.fillStyle = this.colors.host;
    c.fillRect(block.x, block.y + 34, block.width, height);
    c.fillStyle = this.colors.busy;
    c.fillRect(block.x, block.y + 34 + height * (1 - busy), block.width, height * busy);
    this.drawn.hosts += block.hosts.length;
    this.drawn.links += block.hosts.length;
  }

  /** Lines from the leaf switch down each column, and to the side of each host: grey for the link, coloured for each tree that
   *  serves the host by this switch. */
  drawLanes(c, block, number) {
    const bottom = (rows) => block.y + 26 + 12 + (rows - 1) * (CELL.height + CELL.gap) + CELL.height / 2;
    const inColumn = (column) => Math.ceil((block.hosts.length - column) / block.columns);
    const comb = (offset, hosts, down, color, width) => {
      c.strokeStyle = color;
      c.lineWidth = width * Math.max(this.px, 0.9);
      c.beginPath();
      let first, last;
      for (let column = 0; column < block.columns; ++column) {
        const cellX = block.x + CELL.lane + column * (CELL.width + CELL.lane), x = down ? cellX + CELL.width + offset : cellX - offset;
        const members = [];
        for (let row = 0; row < inColumn(column); ++row) if (!hosts || hosts.has(block.hosts[row * block.columns + column])) members.push(row);
        if (!members.length) continue;
        first ??= x;
        last = x;
        const edge = down ? block.y + block.height + 8 : block.y + 26;
        c.moveTo(x, edge);
        c.lineTo(x, down ? bottom(members[0] + 1) : bottom(members.at(-1) + 1));
        for (const row of members) {
          const cy = bottom(row + 1);
          c.moveTo(x, cy);
          c.lineTo(down ? cellX + CELL.width : cellX, cy);
        }
      }
      if (down && first !== undefined) { // They meet below the block.
        c.moveTo(first, block.y + block.height + 8);
        c.lineTo(Math.max(last, block.x + block.width / 2), block.y + block.height + 8);
      }
      c.stroke();
    };
    comb(6, null, false, this.colors.link, 1);
    const further = new Map(); // switches of further ports -> hosts
    for (const host of block.hosts) for (const port of this.fabric.hosts[host].ports.slice(1)) if (port != null) {
      if (!further.has(port)) further.set(port, []);
      further.get(port).push(host);
    }
    for (const [port, hosts] of further) {
      const bar = this.plan.switches[port];
      if (!bar) continue;
      this.drawn.links += hosts.length;
      const down = bar.y > block.y;
      if (down) comb(3, new Set(hosts), true, this.colors.link, 1);
      c.beginPath();
      const edge = { x: block.x, y: down ? block.y + block.height + 8 - 26 : block.y, width: block.width, height: 26 };
      this.path(c, edge, bar);
      c.stroke();
    }
    const lanes = this.lanes[number].filter((lane) => !this.hidden.has(lane.tree));
    lanes.forEach((lane, nth) => {
      const leaf = this.fabric.nodes[lane.leaf], leafSwitch = leaf.switch ?? this.fabric.hosts[leaf.host]?.ports[0];
      const bar = this.plan.switches[lane.port];
      const down = bar && lane.port !== block.switch && bar.y > block.y;
      c.globalAlpha = this.job ? 0.25 : 0.9;
      comb(Math.min(11, 3 + 2.6 * (nth % 4)) - (down ? 0 : 1), new Set(lane.hosts), down, treeColor(lane.tree), 1.6);
      const target = this.plan.switches[leafSwitch];
      // Its leaf is at another switch than the block's own: one line for all of them.
      if (target && leafSwitch !== block.switch) {
        const edge = { x: block.x, y: down ? block.y + block.height + 8 - 26 : block.y, width: block.width, height: 26 };
        c.beginPath();
        this.path(c, edge, target, this.plan.wrapped ? (lane.tree + 1) * 3 : 0, block.x + block.width / 2 + (lane.tree + 1) * 4, this.nodePlace(lane.leaf)?.x ?? target.x + target.width / 2);
        c.stroke();
      }
    });
    c.globalAlpha = 1;
  }

  drawSwitches(c) {
    const zoom = this.view.zoom;
    this.plan.switches.forEach((bar, index) => {
      if (!bar) return;
      ++this.drawn.switches;
      if (!this.visible(bar)) return;
      c.fillStyle = this.colors.bar;
      c.strokeStyle = this.colors.barEdge;
      c.lineWidth = Math.max(this.px, 0.8);
      c.beginPath();
      c.roundRect(bar.x, bar.y, bar.width, bar.height, 4);
      c.fill();
      c.stroke();
      if (zoom < 0.4) return;
      const taken = 8 + 26 * (this.nodesAt.get(index)?.length ?? 0);
      c.fillStyle = this.colors.text;
      c.font = '600 12px system-ui, sans-serif';
      c.textBaseline = 'middle';
      c.fillText(short(c, this.fabric.switches[index].name, bar.width - taken - 8), bar.x + taken + 2, bar.y + bar.height / 2 + 1);
    });
  }

  drawNodes(c) {
    this.fabric.nodes.forEach((node, index) => {
      const place = this.nodePlace(index);
      if (!place) return;
      ++this.drawn.nodes;
      const radius = node.host != null ? 6 : 8;
      const trees = this.fabric.trees.flatMap((tree, number) => (!tree.lost && tree.parents[index] != null && !this.hidden.has(number) ? [number] : []));
      const roots = trees.filter((number) => this.fabric.trees[number].root === index);
      const state = this.state?.nodes[index], up = !this.state || (state?.registered && !state.silent);
      if (roots.length) {
        c.strokeStyle = treeColor(roots[0]);
        c.lineWidth = 2.4;
        c.beginPath();
        c.arc(place.x, place.y, radius + 4, 0, 2 * Math.PI);
        c.stroke();
      }
      c.beginPath();
      c.arc(place.x, place.y, radius, 0, 2 * Math.PI);
      c.fillStyle = up ? this.colors.back : this.colors.bad;
      c.fill();
      c.strokeStyle = !up ? this.colors.bad : trees.length ? treeColor(trees[0]) : this.colors.faint;
      c.lineWidth = 2;
      c.stroke();
      if (up) { // The filled part of the circle is the granted part of its OSTs.
        const share = this.share(index);
        c.beginPath();
        c.moveTo(place.x, place.y);
        c.arc(place.x, place.y, radius - 1, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * share);
        c.fillStyle = trees.length ? treeColor(trees[0]) : this.colors.faint;
        c.fill();
      } else if (this.view.zoom > 0.4) {
        c.strokeStyle = this.colors.back;
        c.lineWidth = 2;
        c.beginPath();
        c.moveTo(place.x - 3, place.y - 3); c.lineTo(place.x + 3, place.y + 3);
        c.moveTo(place.x + 3, place.y - 3); c.lineTo(place.x - 3, place.y + 3);
        c.stroke();
      }
      if (roots.length && this.view.zoom > 0.3) {
        c.fillStyle = treeColor(roots[0]);
        c.font = '600 11px system-ui, sans-serif';
        c.textBaseline = 'alphabetic';
        const bar = node.switch != null ? this.plan.switches[node.switch] : null;
        const y = bar ? (bar.side > 0 && !bar.block ? bar.y + bar.height + 14 : bar.y - 7) : place.y - 12;
        c.fillText(`root of ${roots.map((number) => `T${number + 1}`).join(' ')}`, bar ? bar.x + 2 : place.x, y);
      }
    });
  }

  /** The chosen job: its part of each tree, and frames around its hosts. */
  drawJob(c) {
    if (!this.job) return;
    for (const share of this.job.shares) {
      const tree = this.fabric.trees[share.tree];
      if (!tree || tree.lost || this.hidden.has(share.tree)) continue;
      c.strokeStyle = treeColor(share.tree);
      c.lineWidth = 4 * Math.max(this.px, 0.8);
      c.beginPath();
      share.parents.forEach((above, index) => { if (above != null) this.hop(c, tree, share.nodes[index], share.nodes[above], (share.tree - (this.fabric.trees.length - 1) / 2) * 6); });
      c.stroke();
    }
    c.strokeStyle = this.colors.accent;
    c.lineWidth = 2.5 * Math.max(this.px, 0.8);
    c.beginPath();
    for (const host of this.job.host_list) {
      const cell = this.plan.cells[host];
      if (cell) c.rect(cell.x - 1, cell.y - 1, CELL.width + 2, CELL.height + 2);
    }
    c.stroke();
  }

  boxOf(item) {
    if (!item) return null;
    if (item.kind === 'host') {
      const cell = this.plan.cells[item.index];
      return cell && { x: cell.x, y: cell.y, width: CELL.width, height: CELL.height };
    }
    if (item.kind === 'switch') return this.plan.switches[item.index];
    if (item.kind === 'node') {
      const place = this.nodePlace(item.index);
      return place && { x: place.x - 12, y: place.y - 12, width: 24, height: 24 };
    }
    if (item.kind === 'link') {
      const link = this.fabric.links[item.index], a = this.plan.switches[link?.a], b = this.plan.switches[link?.b];
      return a && b && { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x) + a.width, height: Math.abs(a.y - b.y) + a.height };
    }
    return null;
  }

  drawSelection(c) {
    const box = this.selected?.kind !== 'link' && this.boxOf(this.selected);
    if (!box) return;
    c.strokeStyle = this.colors.accent;
    c.lineWidth = 3 * this.px;
    const gap = 4 * this.px;
    c.strokeRect(box.x - gap, box.y - gap, box.width + 2 * gap, box.height + 2 * gap);
  }

  // ---- moving about

  fit() {
    const box = this.canvas.getBoundingClientRect();
    if (!this.plan || box.width === 0) return;
    const all = this.plan.bounds, zoom = Math.min(box.width / all.width, box.height / all.height, 1.25);
    this.view = { zoom, x: all.x - (box.width / zoom - all.width) / 2, y: all.y - (box.height / zoom - all.height) / 2 };
    this.fitted = true;
    this.redraw();
  }

  zoomBy(factor, atX = this.width / 2, atY = this.height / 2) {
    const view = this.view, all = this.plan.bounds, least = Math.min(this.width / all.width, this.height / all.height, 1) * 0.5;
    const zoom = Math.min(kZoomMax, Math.max(least, view.zoom * factor));
    view.x += atX / view.zoom - atX / zoom;
    view.y += atY / view.zoom - atY / zoom;
    view.zoom = zoom;
    this.fitted = false;
    this.redraw();
  }

  select(item, centre = false) {
    this.selected = item;
    const box = this.boxOf(item);
    if (box && (centre || !this.visible(box))) {
      if (this.view.zoom < kNameFrom && centre) this.view.zoom = 0.9;
      this.view.x = box.x + box.width / 2 - this.width / 2 / this.view.zoom;
      this.view.y = box.y + box.height / 2 - this.height / 2 / this.view.zoom;
      this.fitted = false;
    }
    this.onSelect(item);
    this.redraw();
  }

  /** Returns the thing under a point of the screen. */
  at(px, py) {
    const x = this.view.x + px / this.view.zoom, y = this.view.y + py / this.view.zoom;
    const reach = 5 / this.view.zoom;
    for (let index = 0; index < this.fabric.nodes.length; ++index) {
      const place = this.nodePlace(index);
      if (place && Math.hypot(place.x - x, place.y - y) < 10 + reach) return { kind: 'node', index };
    }
    const inside = (box) => box && x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
    for (const block of this.plan.blocks) {
      if (!inside({ ...block, height: block.height + 8 })) continue;
      if (y < block.y + 26) return { kind: 'switch', index: block.switch };
      const host = block.hosts.find((one) => inside({ ...this.plan.cells[one], width: CELL.width, height: CELL.height }));
      return host === undefined ? null : { kind: 'host', index: host };
    }
    const bar = this.plan.switches.findIndex(inside);
    return bar < 0 ? null : { kind: 'switch', index: bar };
  }

  /** Selects the nearest thing in a direction. */
  step(dx, dy) {
    const from = this.boxOf(this.selected);
    if (!from) return this.select(this.plan.blocks.length ? { kind: 'switch', index: this.plan.blocks[0].switch } : this.fabric.switches.length ? { kind: 'switch', index: 0 } : null);
    const x = from.x + from.width / 2, y = from.y + from.height / 2;
    let best = null, least = Infinity;
    const look = (item) => {
      const box = this.boxOf(item);
      if (!box || (this.selected.kind === item.kind && this.selected.index === item.index)) return;
      const ahead = (box.x + box.width / 2 - x) * dx + (box.y + box.height / 2 - y) * dy;
      const aside = Math.abs((box.x + box.width / 2 - x) * dy) + Math.abs((box.y + box.height / 2 - y) * dx);
      if (ahead <= 1) return;
      const far = ahead + 2.5 * aside;
      if (far < least) { least = far; best = item; }
    };
    this.fabric.nodes.forEach((_, index) => look({ kind: 'node', index }));
    this.plan.switches.forEach((_, index) => look({ kind: 'switch', index }));
    this.plan.cells.forEach((_, index) => look({ kind: 'host', index }));
    if (best) this.select(best);
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener('keydown', (event) => {
      if (!this.fabric || event.ctrlKey || event.metaKey || event.altKey) return;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (moves[event.key] && event.shiftKey) {
        this.view.x += moves[event.key][0] * 80 / this.view.zoom;
        this.view.y += moves[event.key][1] * 80 / this.view.zoom;
        this.fitted = false;
        this.redraw();
      } else if (moves[event.key]) this.step(...moves[event.key]);
      else if (event.key === '+' || event.key === '=') this.zoomBy(1.3);
      else if (event.key === '-') this.zoomBy(1 / 1.3);
      else if (event.key === '0') this.fit();
      else if (event.key === 'Escape' && (this.selected || this.job)) this.select(null);
      else if (event.key === 'Enter' && this.selected) this.select(this.selected, true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    canvas.addEventListener('wheel', (event) => {
      if (!this.fabric) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-Math.sign(event.deltaY) * Math.min(0.35, Math.abs(event.deltaY) / 300)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      this.moved = 0;
    });
    canvas.addEventListener('pointermove', (event) => {
      const before = this.pointers.get(event.pointerId);
      if (!before) return this.hover(event);
      const now = { x: event.offsetX, y: event.offsetY };
      const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      if (others.length) { // Two fingers zoom.
        const spread = (at) => Math.max(20, Math.hypot(at.x - others[0].x, at.y - others[0].y));
        this.zoomBy(spread(now) / spread(before), (now.x + others[0].x) / 2, (now.y + others[0].y) / 2);
      }
      const part = others.length ? 0.5 : 1;
      this.view.x -= part * (now.x - before.x) / this.view.zoom;
      this.view.y -= part * (now.y - before.y) / this.view.zoom;
      this.moved += Math.hypot(now.x - before.x, now.y - before.y);
      if (this.moved > 4) this.fitted = false;
      this.pointers.set(event.pointerId, now);
      this.redraw();
    });
    const up = (event) => {
      if (!this.pointers.delete(event.pointerId) || event.type !== 'pointerup' || this.moved > 4 || !this.fabric) return;
      this.select(this.at(event.offsetX, event.offsetY));
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    canvas.addEventListener('dblclick', (event) => this.zoomBy(1.8, event.offsetX, event.offsetY));
  }

  hover(event) {
    if (!this.fabric || event.pointerType === 'touch') return;
    const item = this.at(event.offsetX, event.offsetY);
    canvasCursor(this.canvas, item);
    this.tip.hidden = !item;
    if (!item) return;
    say(this.tip, `${item.kind} ${this.nameOf(item)}`);
    this.tip.style.left = `${Math.min(event.offsetX + 14, this.width - 200)}px`;
    this.tip.style.top = `${event.offsetY + 14}px`;
  }

  nameOf(item) {
    if (item.kind === 'link') {
      const link = this.fabric.links[item.index];
      return `${this.fabric.switches[link.a].name} - ${this.fabric.switches[link.b].name}`;
    }
    return { host: this.fabric.hosts, node: this.fabric.nodes, switch: this.fabric.switches }[item.kind][item.index].name;
  }
}

function canvasCursor(canvas, item) { canvas.style.cursor = item ? 'pointer' : 'grab'; }

/** Shortens a text in the middle so that it fits. */
function short(c, text, width) {
  if (width < 8) return '';
  if (c.measureText(text).width <= width) return text;
  for (let keep = Math.min(text.length - 1, Math.floor(width / 4)); keep > 1; --keep) {
    const cut = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
    if (c.measureText(cut).width <= width) return cut;
  }
  return '';
}
