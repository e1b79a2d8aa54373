import { keep, kept } from './kept.ts'

const NAME = 'sexton-theme'

/** What the person chose last, else what the system says. */
export function startTheme(): void {
  const chosen = kept(NAME)
  if (chosen !== undefined) document.documentElement.dataset.theme = chosen
}

export function switchTheme(): void {
  const root = document.documentElement
  const isDark =
    (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : '')) ===
    'dark'
  root.dataset.theme = isDark ? 'light' : 'dark'
  keep(NAME, root.dataset.theme)
}
