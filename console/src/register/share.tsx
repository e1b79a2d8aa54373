import { Copy } from '../parts/copy.tsx'
import { texts } from '../texts.ts'
import { embedOf, markdownOf } from './embed.ts'

const BADGES = ['burned', 'holders', 'price', 'dividends']
const CHARTS = [
  '/charts/burns.svg?period=90d',
  '/charts/holders.svg?period=all&theme=dark',
  '/cards/register.png',
]

/** Badges as they look, and addresses of charts. */
export function Share() {
  const t = texts.share
  return (
    <section class="row" aria-labelledby="share">
      <div class="margin">
        <h2 id="share">{t.title}</h2>
        <p class="note">{t.note}</p>
      </div>
      <div class="body halves">
        <div>
          <h3 class="sub">{t.badges}</h3>
          <ul class="badges">
            {BADGES.map((name) => {
              const badge = { page: '/', picture: `/badges/${name}.svg`, words: name, size: '' }
              return (
                <li key={name}>
                  <img src={badge.picture} alt={name} width="240" height="28" loading="lazy" />
                  <code>{markdownOf(badge)}</code>
                  <span class="links">
                    <Copy label={t.markdown} of={name} text={markdownOf(badge)} />
                    <Copy label={t.embed} of={name} text={embedOf(badge)} />
                  </span>
                </li>
              )
            })}
          </ul>
        </div>
        <div>
          <h3 class="sub">{t.charts}</h3>
          <ul class="addresses">
            {CHARTS.map((path) => (
              <li key={path}>
                <a class="code" href={path}>
                  {path}
                </a>
              </li>
            ))}
          </ul>
        </div>
      </div>
    </section>
  )
}
