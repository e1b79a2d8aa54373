import { escapeMarkup } from '#lib/text.ts'

export const HTML_TYPE = 'text/html; charset=utf-8'

/** Where these pages find their style. */
export const PLAIN_STYLE_PATH = '/plain.css'

/** Pages of text, without scripts. */
export const PLAIN_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** `content` is HTML. */
export function plainPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeMarkup(title)}</title>
    <link rel="icon" href="/favicon.ico" type="image/svg+xml">
    <link rel="stylesheet" href="${PLAIN_STYLE_PATH}">
  </head>
  <body>
    <nav><a href="/">The register</a> <a href="/scalar/v1">Documentation</a> <a href="/status">Status</a></nav>
    <main>${content}</main>
  </body>
</html>
`
}

export function tableOf(rows: readonly (readonly [string, string])[]): string {
  const cells = rows.map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeMarkup(name)}</th><td>${escapeMarkup(value)}</td></tr>`,
  )
  return `<table>${cells.join('')}</table>`
}

export const PLAIN_STYLE = `:root { color-scheme: light dark }
body { font: 18px/1.5 Georgia, serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem;
  background: light-dark(#f5f6f2, #0f1412); color: light-dark(#17201c, #e9ede6) }
h1 { font-size: 1.6rem; line-height: 1.2 }
h2 { font-size: 1.2rem }
a { color: inherit }
nav { display: flex; flex-wrap: wrap; gap: 0 1.4rem }
main { overflow-wrap: anywhere }
th { overflow-wrap: break-word }
code, pre { font: 0.85em ui-monospace, monospace; background: light-dark(#e9ece6, #202824) }
pre { padding: 1rem; white-space: pre-wrap }
table { border-collapse: collapse }
td, th { padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid light-dark(#d3d9d2, #2a332e) }
`
