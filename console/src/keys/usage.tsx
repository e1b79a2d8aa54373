import { Plot } from '../chart/plot.tsx'
import { count, short } from '../parts/format.ts'
import { QuotaLine } from '../parts/quota-line.tsx'
import { texts } from '../texts.ts'
import { Facts } from './gate.tsx'
import { Refusal } from './refusal.tsx'
import type { useUsage } from './use-usage.ts'

const t = texts.usage

/** Calls and money of the key in memory. */
export function Usage({ usage, days, error, read }: ReturnType<typeof useUsage>) {
  const free = days.map((day) => day.requestCount - day.overageCount)
  const paid = days.map((day) => day.overageCount)
  const spent = days.reduce((sum, day) => sum + day.spentUsd, 0)
  return (
    <div class="stack">
      <h2 class="sub">
        {t.title}{' '}
        {days.length > 0 && (
          <span class="note">
            <i class="dot mark" />
            {t.free} <i class="dot paid" />
            {t.paid(`$${spent.toFixed(4)}`)}
          </span>
        )}
      </h2>
      {usage === undefined && error === undefined && <p class="quiet">{t.need}</p>}
      {days.length > 0 && (
        <Plot
          label={t.label}
          valueText={`${free.at(-1) ?? 0} + ${paid.at(-1) ?? 0}`}
          height={150}
          marks="bars"
          series={[
            { tone: 'mark', values: free },
            { tone: 'paid', values: paid },
          ]}
          format={short}
          isWhole
          days={{ fromUnix: Date.parse(days[0]?.date ?? '') / 1000, last: 'today' }}
        />
      )}
      {usage !== undefined && (
        <Facts
          lines={[
            [t.today, count(usage.requestCount)],
            [t.balance, `$${usage.prepaidBalanceUsd.toFixed(4)}`],
          ]}
        />
      )}
      <QuotaLine />
      <Refusal error={error} again={read} />
    </div>
  )
}
