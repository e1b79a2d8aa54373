import { from, getSelector } from 'ox/AbiEvent'

const COMMON = [
  'Transfer(address,address,uint256)',
  'Approval(address,address,uint256)',
  'ApprovalForAll(address,address,bool)',
  'TransferSingle(address,address,address,uint256,uint256)',
  'TransferBatch(address,address,address,uint256[],uint256[])',
  'Burn(address,uint256)',
  'Burned(address,uint256)',
  'TokensBurned(address,uint256)',
  'Mint(address,uint256)',
  'Deposit(address,uint256)',
  'Deposit(address,address,uint256,uint256)',
  'Withdrawal(address,uint256)',
  'Withdraw(address,address,address,uint256,uint256)',
  'Swap(address,uint256,uint256,uint256,uint256,address)',
  'Swap(address,address,int256,int256,uint160,uint128,int24)',
  'Sync(uint112,uint112)',
  'AnswerUpdated(int256,uint256,uint256)',
  'Claimed(address,uint256)',
  'Claim(address,uint256)',
  'RewardPaid(address,uint256)',
  'RewardAdded(uint256)',
  'RewardsClaimed(address,uint256)',
  'DividendsDistributed(address,uint256)',
  'DividendWithdrawn(address,uint256)',
  'DividendClaimed(address,address,uint256)',
  'Staked(address,uint256)',
  'Unstaked(address,uint256)',
  'Withdrawn(address,uint256)',
  'OwnershipTransferred(address,address)',
  'RoleGranted(bytes32,address,address)',
  'Paused(address)',
  'Upgraded(address)',
  'Initialized(uint64)',
] as const

export function nameOfTopic(topic0: string): string {
  const known = COMMON.find((event) => getSelector(from(`event ${event}`)) === topic0)
  return known ?? topic0
}
