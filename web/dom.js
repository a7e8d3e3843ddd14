// Makes and changes elements. Text only ever becomes text: names come from hosts and users, and nothing here reads markup.

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'class') element.className = value;
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

export const by = (id) => document.getElementById(id);

/** Sets the text only if it differs, so that a refresh leaves selections and screen readers alone. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
}

export const count = (number) => new Intl.NumberFormat('en').format(number);
export const many = (number, one, more) => `${count(number)} ${number === 1 ? one : more ?? `${one}s`}`;

export function age(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds / 3600) % 24} h`;
}

export function clock(unixMs) {
  const time = new Date(unixMs);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

export function rate(bits) {
  if (!bits) return 'no limit';
  for (const [unit, size] of [['Tbit/s', 1e12], ['Gbit/s', 1e9], ['Mbit/s', 1e6], ['kbit/s', 1e3]])
    if (bits >= size) return `${+(bits / size).toFixed(1)} ${unit}`;
  return `${bits} bit/s`;
}

export function delay(ns) {
  if (ns >= 1e6) return `${+(ns / 1e6).toFixed(1)} ms`;
  return ns >= 1000 ? `${+(ns / 1000).toFixed(1)} us` : `${ns} ns`;
}
