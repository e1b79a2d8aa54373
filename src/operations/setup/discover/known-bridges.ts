import { type AbiEvent, from, getSelector } from 'ox/AbiEvent'
import type { Hash } from '#domain/address.ts'

/** What a bridge emits with a mint or burn; `amount` names the argument that is equal to it. */
export interface KnownBridgeEvent {
  readonly text: string
  readonly event: AbiEvent
  readonly amount: string
}

/** LayerZero, Hyperlane, the OP Stack, Arbitrum, Chainlink CCIP, Wormhole NTT and Circle CCTP. */
const EVENTS: readonly (readonly [text: string, amount: string])[] = [
  [
    'event OFTSent(bytes32 indexed guid, uint32 dstEid, address indexed fromAddress, uint256 amountSentLD, uint256 amountReceivedLD)',
    'amountSentLD',
  ],
  [
    'event OFTReceived(bytes32 indexed guid, uint32 srcEid, address indexed toAddress, uint256 amountReceivedLD)',
    'amountReceivedLD',
  ],
  [
    'event SentTransferRemote(uint32 indexed destination, bytes32 indexed recipient, uint256 amount)',
    'amount',
  ],
  [
    'event ReceivedTransferRemote(uint32 indexed origin, bytes32 indexed recipient, uint256 amount)',
    'amount',
  ],
  ...['ERC20BridgeInitiated', 'ERC20BridgeFinalized'].map(
    (name) =>
      [
        `event ${name}(address indexed localToken, address indexed remoteToken, address indexed from, address to, uint256 amount, bytes extraData)`,
        'amount',
      ] as const,
  ),
  [
    'event DepositFinalized(address indexed l1Token, address indexed from, address indexed to, uint256 amount)',
    'amount',
  ],
  [
    'event WithdrawalInitiated(address l1Token, address indexed from, address indexed to, uint256 indexed l2ToL1Id, uint256 exitNum, uint256 amount)',
    'amount',
  ],
  [
    'event LockedOrBurned(uint64 indexed remoteChainSelector, address token, address sender, uint256 amount)',
    'amount',
  ],
  [
    'event ReleasedOrMinted(uint64 indexed remoteChainSelector, address token, address sender, address recipient, uint256 amount)',
    'amount',
  ],
  [
    'event TransferSent(bytes32 indexed recipient, bytes32 indexed refundAddress, uint256 amount, uint256 fee, uint16 recipientChain, uint64 msgSequence)',
    'amount',
  ],
  [
    'event DepositForBurn(uint64 indexed nonce, address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller)',
    'amount',
  ],
  [
    'event MintAndWithdraw(address indexed mintRecipient, uint256 amount, address indexed mintToken)',
    'amount',
  ],
]

export const bridgeEvents: ReadonlyMap<Hash, KnownBridgeEvent> = new Map(
  EVENTS.map(([text, amount]) => {
    const event = from(text)
    if (event.type !== 'event') throw new TypeError(`not an event: ${text}`)
    return [getSelector(event), { text, event, amount }]
  }),
)
