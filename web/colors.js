// Colours of the canvas, for both themes. Those of the trees (after Okabe and Ito) differ for colour-blind eyes too; from the
// ninth tree on they come again, dashed.

const trees = {
  light: ['#0072b2', '#d55e00', '#009e73', '#b0508a', '#8a6d00', '#3f8fd0', '#6a3d9a', '#555555'],
  dark: ['#56b4e9', '#e69f00', '#2bc79a', '#e08bc0', '#f0e442', '#8fb8ff', '#b79cf2', '#cccccc'],
};

export const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

export const treeColor = (tree) => trees[isDark() ? 'dark' : 'light'][tree % 8];
export const treeDash = (tree) => [[], [7, 4], [2, 3], [9, 3, 2, 3]][Math.floor(tree / 8) % 4];

/** The colours of the style sheet, for drawing. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    back: of('canvas'), text: of('text'), faint: of('faint'), rule: of('rule'), link: of('link-line'), panel: of('panel'),
    host: of('host'), hostEdge: of('host-edge'), busy: of('busy'), busyText: of('busy-text'), bad: of('bad'), accent: of('accent'),
    bar: of('bar'), barEdge: of('bar-edge'),
  };
}
