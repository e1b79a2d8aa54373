import type { KnownEvent } from '#chains/ecosystem/event-kinds/event-kind.ts'

type Names = KnownEvent['mapping']

const claim = (signature: string, names: Names): KnownEvent => ({
  signature,
  mapping: { kind: 'claim', ...names },
})

const distribution = (signature: string, names: Names): KnownEvent => ({
  signature,
  mapping: { kind: 'distribution', ...names },
})

/** What contracts that pay holders emit. */
export const knownEvents: readonly KnownEvent[] = [
  ...['DividendClaimed', 'RewardPaid', 'RewardClaimed', 'RewardsClaimed'].flatMap((name) => [
    claim(`${name}(address account, uint256 amount)`, { recipient: 'account', amount: 'amount' }),
    claim(`${name}(address account, address token, uint256 amount)`, {
      recipient: 'account',
      tokenArgument: 'token',
      amount: 'amount',
    }),
  ]),
  ...['DividendWithdrawn', 'DividendsClaimed', 'Claimed', 'Claim', 'Harvest'].map((name) =>
    claim(`${name}(address account, uint256 amount)`, { recipient: 'account', amount: 'amount' }),
  ),
  claim('Claimed(uint256 index, address account, uint256 amount)', {
    recipient: 'account',
    amount: 'amount',
  }),
  distribution('DividendsDistributed(address from, uint256 amount)', { amount: 'amount' }),
  distribution('DividendDistributed(address token, uint256 amount)', {
    tokenArgument: 'token',
    amount: 'amount',
  }),
  distribution('RewardAdded(uint256 amount)', { amount: 'amount' }),
]
