export const ROLES = ['serve', 'index', 'verify', 'audit'] as const

/** A process that needs no table of its own. */
export type Role = (typeof ROLES)[number]

export type StoreName = 'register' | 'accounts'

type Right = 'select' | 'insert' | 'update' | 'delete'

type Writes = Partial<Record<Role, readonly Right[]>>

/** Each role reads every table of its stores. */
export const STORES: Readonly<Record<Role, readonly StoreName[]>> = {
  serve: ['register', 'accounts'],
  index: ['register'],
  verify: ['register', 'accounts'],
  audit: ['register', 'accounts'],
}

const ADDED: readonly Right[] = ['insert']
const CHANGED: readonly Right[] = ['insert', 'update']
const ALL: readonly Right[] = ['insert', 'update', 'delete']

/** The register can be rebuilt, so the index may do anything to its rows. */
const REBUILT: Writes = { index: ALL }

/** What each role writes; a table without a line here fails a test. */
export const WRITES: Readonly<Record<StoreName, Readonly<Record<string, Writes>>>> = {
  register: {
    migrations: {},
    anomalies: REBUILT,
    backfills: REBUILT,
    balance_checks: REBUILT,
    balance_deltas: REBUILT,
    balance_hours: REBUILT,
    balances: REBUILT,
    blocks: REBUILT,
    changes: REBUILT,
    deposits: REBUILT,
    event_account_counts: REBUILT,
    event_account_sums: REBUILT,
    event_buckets: REBUILT,
    events: REBUILT,
    feed: REBUILT,
    feed_gaps: REBUILT,
    file_adoptions: REBUILT,
    file_parts: REBUILT,
    forgotten_chains: REBUILT,
    holder_buckets: REBUILT,
    holder_spans: REBUILT,
    holder_totals: REBUILT,
    holder_turns: {},
    factories: REBUILT,
    found_contracts: REBUILT,
    job_runs: REBUILT,
    leases: REBUILT,
    matched_mappings: REBUILT,
    node_states: REBUILT,
    positions: REBUILT,
    price_days: REBUILT,
    price_hours: REBUILT,
    price_points: REBUILT,
    proofs: REBUILT,
    stalled_chains: REBUILT,
    stalled_datasets: REBUILT,
    supply_buckets: REBUILT,
    unknown_figures: REBUILT,
    unminted: REBUILT,
  },
  accounts: {
    migrations: {},
    balances: { serve: CHANGED, verify: CHANGED },
    claim_proofs: { serve: ADDED, verify: ['delete'] },
    claims: { serve: CHANGED, verify: ['update', 'delete'] },
    credits: { serve: CHANGED, verify: CHANGED },
    // Only the owner gives money or quotas away, or copies a store.
    granted_quotas: {},
    grants: {},
    store_copies: {},
    journal_entries: { serve: ADDED, verify: ADDED },
    job_runs: { verify: CHANGED },
    key_days: { serve: CHANGED, verify: ALL },
    keys: { serve: CHANGED, verify: ['update'] },
    leases: { verify: CHANGED },
    postings: { serve: ADDED, verify: ADDED },
    spend_days: { serve: CHANGED, verify: CHANGED },
    usage_days: { serve: CHANGED, verify: ALL },
    used_messages: { serve: ADDED },
    wallets: { serve: CHANGED, verify: ['update'] },
    webhooks: { serve: ALL, verify: ['update', 'delete'] },
    x402_collected: { serve: ADDED },
    x402_intents: { serve: CHANGED, verify: ['update', 'delete'] },
    x402_facilitator: { verify: CHANGED },
    x402_gas: { serve: CHANGED, verify: CHANGED },
    x402_sign_ins: { serve: CHANGED, verify: ['delete'] },
  },
}

export interface TableRights {
  readonly store: StoreName
  readonly table: string
  readonly rights: readonly Right[]
}

export function rightsOf(role: Role): readonly TableRights[] {
  return STORES[role].flatMap((store) =>
    Object.entries(WRITES[store]).map(([table, writes]) => ({
      store,
      table,
      rights: ['select' as const, ...(writes[role] ?? [])],
    })),
  )
}
