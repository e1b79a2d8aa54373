// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The proxy in front of a feed, as Chainlink has it: it answers like its aggregator, which alone emits events.
contract FeedProxy {
    address public immutable aggregator;
    uint8 public constant decimals = 8;

    constructor(address aggregator_) {
        aggregator = aggregator_;
    }
}
