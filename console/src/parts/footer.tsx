import { texts } from '../texts.ts'

export function Footer() {
  return (
    <footer class="row">
      <div class="margin" />
      <div class="body">
        <span>{texts.footer.promise}</span>
        <a href="/scalar/v1">{texts.footer.docs}</a>
        <a href="/openapi.json">{texts.footer.openapi}</a>
        <a href="/readyz">{texts.footer.status}</a>
      </div>
    </footer>
  )
}
