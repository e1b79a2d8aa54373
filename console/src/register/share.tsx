import { texts } from '../texts.ts'
import { CopyEmbed } from './chart-links.tsx'

const BADGES = ['burned', 'holders', 'price', 'dividends']

/** Badges as they look. */
export function Share() {
  const t = texts.share
  return (
    <section class="row" aria-labelledby="share">
      <div class="margin">
        <h2 id="share">{t.title}</h2>
        <p class="note">{t.note}</p>
      </div>
      <ul class="body badges">
        {BADGES.map((name) => (
          <li key={name}>
            <img src={`/badges/${name}.svg`} alt={name} height="28" loading="lazy" />
            <span class="links">
              <CopyEmbed page="/" picture={`/badges/${name}.svg`} words={name} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
