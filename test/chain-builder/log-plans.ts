import {
  type Address,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  parseAbi,
  parseAbiParameters,
  zeroAddress,
} from 'viem'
import type { LogPlan } from './built-chain.ts'

const abi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event DividendDistributed(address indexed token, uint256 amount)',
  'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
  'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
])

/** Logs of the ecosystem's contracts by name; amounts are in base units. */
export const logOf = {
  transfer: (token: Address, from: Address, to: Address, value: bigint): LogPlan =>
    plan(token, encodeEventTopics({ abi, eventName: 'Transfer', args: { from, to } }), [value]),
  mint: (token: Address, to: Address, value: bigint): LogPlan =>
    logOf.transfer(token, zeroAddress, to, value),
  burn: (token: Address, from: Address, value: bigint): LogPlan =>
    logOf.transfer(token, from, zeroAddress, value),
  claim: (distributor: Address, account: Address, token: Address, amount: bigint): LogPlan =>
    plan(
      distributor,
      encodeEventTopics({ abi, eventName: 'DividendClaimed', args: { account, token } }),
      [amount],
    ),
  distribution: (distributor: Address, token: Address, amount: bigint): LogPlan =>
    plan(
      distributor,
      encodeEventTopics({ abi, eventName: 'DividendDistributed', args: { token } }),
      [amount],
    ),
  dig: (graveyard: Address, digger: Address, graveId: bigint, amount: bigint): LogPlan =>
    plan(graveyard, encodeEventTopics({ abi, eventName: 'GraveDug', args: { digger, graveId } }), [
      amount,
    ]),
  sync: (pair: Address, reserve0: bigint, reserve1: bigint): LogPlan =>
    plan(pair, encodeEventTopics({ abi, eventName: 'Sync' }), [reserve0, reserve1]),
  answer: (feed: Address, current: bigint, roundId: bigint): LogPlan =>
    plan(feed, encodeEventTopics({ abi, eventName: 'AnswerUpdated', args: { current, roundId } }), [
      0n,
    ]),
} as const

function plan(address: Address, topics: readonly unknown[], words: readonly bigint[]): LogPlan {
  const types = parseAbiParameters(words.map(() => 'uint256').join(','))
  return {
    address: address.toLowerCase() as Address,
    topics: topics as readonly Hex[],
    data: encodeAbiParameters(types, words),
  }
}
