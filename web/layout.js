// Computes the positions of everything, in units of the drawing: pure. A block is a leaf switch with its hosts in columns below it. The other
// switches of a plane stand above the blocks by their distance from the hosts; every second plane stands below, upside down. Many
// blocks wrap into rows, so that all of it has about the shape of the canvas (`aspect`: width by height).

export const CELL = { width: 74, height: 24, gap: 6, lane: 14 };
export const BAR = { width: 118, height: 26 };
const kBlockGap = 40, kLevelLeast = 96, kLevelMost = 210, kRowGap = 64;
const kWrapFrom = 17;

/** Returns the plane of each switch (by the links between them), and its level: links to the next switch with hosts. */
function planesAndLevels(fabric) {
  const near = fabric.switches.map(() => []);
  for (const link of fabric.links) {
    if (link.up === false || link.a === null || link.b === null) continue;
    near[link.a].push(link.b);
    near[link.b].push(link.a);
  }
  const plane = fabric.switches.map(() => -1), level = fabric.switches.map(() => -1);
  let planes = 0;
  for (let start = 0; start < plane.length; ++start) {
    if (plane[start] >= 0) continue;
    const stack = [start];
    plane[start] = planes++;
    while (stack.length) for (const other of near[stack.pop()]) if (plane[other] < 0) { plane[other] = plane[start]; stack.push(other); }
  }
  let edge = [];
  for (const host of fabric.hosts) if (host.up !== false) for (const port of host.ports) if (port !== null && level[port] < 0) { level[port] = 0; edge.push(port); }
  for (let distance = 1; edge.length; ++distance) {
    const next = [];
    for (const at of edge) for (const other of near[at]) if (level[other] < 0) { level[other] = distance; next.push(other); }
    edge = next;
  }
  return { near, plane, level: level.map((value) => Math.max(value, 0)), planes };
}

function columnsOf(hosts, blocks, aspect) {
  if (blocks <= 2 && hosts <= 4 && aspect > 1) return Math.max(1, hosts);
  return Math.max(Math.min(2, hosts), Math.min(24, Math.round(Math.sqrt(hosts * 0.55))));
}

export function layout(fabric, aspect = 1.9) {
  const { near, plane, level, planes } = planesAndLevels(fabric);
  const shownSwitch = fabric.switches.map((one) => one.up !== false);
  const home = new Map(); // switch -> its hosts
  fabric.hosts.forEach((host, index) => {
    if (host.up === false || host.ports[0] === null) return;
    if (!home.has(host.ports[0])) home.set(host.ports[0], []);
    home.get(host.ports[0]).push(index);
  });
  // Blocks in the order of the switches, improved so that switches with the same neighbours stand together.
  const order = [...home.keys()].sort((a, b) => a - b);
  const firstUp = (at) => Math.min(...near[at].filter((other) => level[other] > level[at]), Infinity);
  order.sort((a, b) => plane[a] - plane[b] || firstUp(a) - firstUp(b) || a - b);

  const blocks = order.map((at) => {
    const hosts = home.get(at), columns = columnsOf(hosts.length, order.length, aspect), rows = Math.ceil(hosts.length / columns);
    const width = Math.max(BAR.width, columns * (CELL.width + CELL.lane) + CELL.lane);
    return { switch: at, hosts, columns, rows, width, height: BAR.height + 12 + rows * (CELL.height + CELL.gap) };
  });
  const total = blocks.reduce((sum, block) => sum + block.width + kBlockGap, 0);
  const tallest = Math.max(0, ...blocks.map((block) => block.height));
  const dense = blocks.length >= kWrapFrom;
  const wrapped = (dense && total > 4 * (tallest + 3 * kLevelLeast)) || (aspect < 0.9 && blocks.length > 2 && planes === 1);
  const wanted = wrapped ? Math.max(blocks[0].width, Math.sqrt(total * (tallest + kRowGap) * Math.min(3, Math.max(0.6, aspect)))) : Infinity;

  // Switches that are no block: other levels, and leaves that hosts have as second port.
  const above = [], below = [];
  fabric.switches.forEach((_, at) => { if (shownSwitch[at] && !home.has(at)) (plane[at] % 2 === 1 && !wrapped ? below : above).push(at); });
  // In the first row over the blocks stand their leaves of further ports, if these are not below.
  const lift = above.some((at) => level[at] === 0) ? 1 : 0;
  const topLevels = above.length ? lift + Math.max(0, ...above.map((at) => level[at])) : 0;

  // A wide and flat fabric gets more space between its levels.
  const levelsBelow = below.length ? 1 + Math.max(0, ...below.map((at) => level[at])) : 0;
  const spare = wrapped ? 0 : (total / aspect - tallest - 100) / Math.max(1, topLevels + levelsBelow);
  const kLevel = Math.min(kLevelMost, Math.max(kLevelLeast, spare));

  const switches = fabric.switches.map(() => null);
  let x = 0, y = topLevels * kLevel, right = 0, rowHeight = 0;
  const rowTop = [];
  for (const block of blocks) {
    if (x > 0 && x + block.width > wanted) { x = 0; y += rowHeight + kRowGap; rowHeight = 0; }
    if (x === 0) rowTop.push(y);
    Object.assign(block, { x, y, row: rowTop.length - 1 });
    switches[block.switch] = { x, y, width: block.width, height: BAR.height, side: 1, block };
    x += block.width + kBlockGap;
    right = Math.max(right, x - kBlockGap);
    rowHeight = Math.max(rowHeight, block.height);
  }
  let bottom = y + rowHeight;

  const cells = new Array(fabric.hosts.length).fill(null);
  for (const block of blocks)
    block.hosts.forEach((host, index) => {
      cells[host] = {
        x: block.x + CELL.lane + (index % block.columns) * (CELL.width + CELL.lane),
        y: block.y + BAR.height + 12 + Math.floor(index / block.columns) * (CELL.height + CELL.gap),
        block,
      };
    });
  // A further switch stands over (or under) the middle of what it is joined to, as far as its neighbours leave room.
  const middle = (at) => {
    const xs = [];
    for (const other of near[at]) if (switches[other]) xs.push(switches[other].x + switches[other].width / 2);
    fabric.hosts.forEach((host, index) => { if (level[at] === 0 && cells[index] && host.ports.includes(at)) xs.push(cells[index].x + CELL.width / 2); });
    return xs.length ? xs.reduce((sum, one) => sum + one, 0) / xs.length : right / 2;
  };
  const put = (list, side) => {
    const levels = new Map();
    for (const at of list) {
      if (!levels.has(level[at])) levels.set(level[at], []);
      levels.get(level[at]).push(at);
    }
    for (const height of [...levels.keys()].sort((a, b) => a - b)) {
      const row = levels.get(height).map((at) => ({ at, x: middle(at) })).sort((a, b) => a.x - b.x || a.at - b.at);
      const step = BAR.width + 24;
      row.forEach((one, index) => { if (index > 0) one.x = Math.max(one.x, row[index - 1].x + step); });
      const shift = row.reduce((sum, one) => sum + one.x - middle(one.at), 0) / row.length;
      const offset = side > 0 ? bottom + 36 + height * kLevel : y0 - (height + lift) * kLevel;
      for (const one of row) switches[one.at] = { x: one.x - shift - BAR.width / 2, y: offset, width: BAR.width, height: BAR.height, side, block: null };
    }
  };
  const y0 = rowTop[0] ?? 0;
  put(above, -1);
  put(below, 1);
  let left = 0, top = Math.min(0, y0);
  for (const one of switches) {
    if (!one) continue;
    left = Math.min(left, one.x);
    right = Math.max(right, one.x + one.width);
    top = Math.min(top, one.y);
    bottom = Math.max(bottom, one.y + one.height);
  }
  const margin = 30;
  return { blocks, cells, switches, plane, level, planes, wrapped, dense, rowTop,
    bounds: { x: left - margin, y: top - margin, width: Math.max(right - left, 1) + 2 * margin, height: Math.max(bottom - top, 1) + 2 * margin } };
}
