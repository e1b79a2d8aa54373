import type { PageColors } from '#base/page-settings.ts'

const PAPER = { light: '#fcfdfa', dark: '#151b18' }
const INK = { light: '#17201c', dark: '#e9ede6' }
const FAINT = { light: '#46524c', dark: '#b7c0b9' }
const RULE = { light: '#d3d9d2', dark: '#2a332e' }
const CHAINS = [
  { light: '#24466b', dark: '#b3cdf2' },
  { light: '#4d9b89', dark: '#3a8b79' },
  { light: '#a98230', dark: '#d3ab58' },
  { light: '#7a6a9c', dark: '#a596c9' },
]

/** Cards have no dark mode. */
export const CARD_COLORS = { paper: PAPER.light, ink: INK.light, faint: FAINT.light }

/** Resolved colors for a chart, which as an image cannot inherit them from a page. */
export function chartTokens({ chains = [] }: PageColors, mode: 'light' | 'dark'): string {
  const fixed = { paper: PAPER, ink: INK, 'ink-2': FAINT, rule: RULE }
  const all = Object.entries(fixed).map(([name, color]) => `--${name}:${color[mode]}`)
  const own = CHAINS.map((color, index) => `--c${index}:${(chains[index] ?? color)[mode]}`)
  return [...all, ...own].join(';')
}

/** Writes a stylesheet of the overridden colors; `html` outranks the page's own rules in any order. */
export function themeSheet({ chains = [], accent }: PageColors): string {
  const tokens = (mode: 'light' | 'dark') =>
    [
      ...chains.map((color, index) => `--chain-${index + 1}: ${color[mode]};`),
      ...(accent === undefined ? [] : [`--rubric: ${accent[mode]};`]),
    ].join(' ')
  if (tokens('light') === '') return ''
  return `html:root, html[data-theme='light'] { ${tokens('light')} }
@media (prefers-color-scheme: dark) { html:root:not([data-theme='light']) { ${tokens('dark')} } }
html[data-theme='dark'] { ${tokens('dark')} }
`
}
