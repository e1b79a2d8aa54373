import { texts } from '../texts.ts'

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
          <p class="badges">
            {BADGES.map((name) => (
              <a key={name} href={`/badges/${name}.svg`}>
                <img src={`/badges/${name}.svg`} alt={name} height="28" loading="lazy" />
              </a>
            ))}
          </p>
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
