const NAME = 'sexton-theme'

/** What the person chose last, else what the system says. */
export function startTheme(): void {
  const chosen = localStorage.getItem(NAME)
  if (chosen !== null) document.documentElement.dataset.theme = chosen
}

export function switchTheme(): void {
  const root = document.documentElement
  const isDark =
    (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : '')) ===
    'dark'
  root.dataset.theme = isDark ? 'light' : 'dark'
  localStorage.setItem(NAME, root.dataset.theme)
}
