import type { Service } from 'sexton-client'
import { texts } from '../texts.ts'

export function Footer({ links }: { readonly links: Service['links'] }) {
  return (
    <footer class="row">
      <div class="margin" />
      <div class="body">
        <span>{texts.footer.promise}</span>
        <a href="/scalar/v1">{texts.footer.docs}</a>
        <a href="/docs/first-chart">{texts.footer.firstChart}</a>
        <a href="/openapi.json">{texts.footer.openapi}</a>
        <a href="/status">{texts.footer.status}</a>
        {(['website', 'community', 'trade'] as const).map((name) => {
          const target = links[name]
          return target !== null && <a href={target}>{texts.footer[name]}</a>
        })}
      </div>
    </footer>
  )
}
