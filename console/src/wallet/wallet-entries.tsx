import { EntryTable, FinalityKey } from '../register/entries.tsx'
import type { Entry, Snapshot, WalletFigures } from '../state/types.ts'
import { walletTexts } from '../wallet-texts.ts'

const t = walletTexts.entries

/** Its newest claims, burns and digs together. */
export function WalletEntries(props: {
  readonly figures: WalletFigures
  readonly snapshot: Snapshot
}) {
  const { figures, snapshot } = props
  const rows = figures.newest as readonly Entry[]
  return (
    <section class="row" aria-labelledby="entries-of">
      <div class="margin">
        <h2 id="entries-of">{t.title}</h2>
        {rows.length > 0 && <FinalityKey />}
      </div>
      <div class="body">
        {rows.length === 0 ? (
          <p class="quiet">{t.noEvents}</p>
        ) : (
          <EntryTable rows={rows} chains={snapshot.service.chains} />
        )}
      </div>
    </section>
  )
}
