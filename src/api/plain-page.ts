import { escapeMarkup } from '#base/text.ts'

export const HTML_TYPE = 'text/html; charset=utf-8'

/** The stylesheet that the site serves for its own pages. */
export const STYLE_PATH = '/page.css'

/** Policy of text pages, which have no scripts. */
export const PLAIN_POLICY =
  "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const LINKS = [
  ['/', 'Register'],
  ['/entries', 'Entries'],
  ['/keys', 'Keys'],
  ['/try', 'Try'],
  ['/scalar/v1', 'Docs'],
  ['/status', 'Status'],
] as const

/** `content` is HTML. */
export function plainPage(title: string, content: string): string {
  const links = LINKS.map(([path, name]) => `<a href="${path}">${name}</a>`)
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeMarkup(title)}</title>
    <link rel="icon" href="/favicon.ico" type="image/svg+xml">
    <link rel="stylesheet" href="/theme.css">
    <link rel="stylesheet" href="${STYLE_PATH}">
  </head>
  <body class="page">
    <header class="mast">
      <a class="brand" href="/"><img src="/favicon.ico" alt="The register" width="32" height="33"></a>
      <div class="right"><nav aria-label="Sections">${links.join('')}</nav></div>
    </header>
    <div class="row text"><main>${content}</main></div>
  </body>
</html>
`
}

export function toTable(rows: readonly (readonly [string, string])[]): string {
  const cells = rows.map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeMarkup(name)}</th><td>${escapeMarkup(value)}</td></tr>`,
  )
  return `<table>${cells.join('')}</table>`
}
