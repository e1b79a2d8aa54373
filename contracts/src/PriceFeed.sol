// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title A price feed with the interface and the event of Chainlink's aggregators, 8 decimals.
contract PriceFeed is Ownable {
    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);

    error NoDataPresent();

    uint8 public constant decimals = 8;
    uint256 public constant version = 4;
    string public description;

    /// @dev Only the newest round is kept: a chain with a large state mines slowly, and past answers
    /// are in the events.
    int256 public latestAnswer;
    uint80 public latestRound;
    uint64 private updatedAt;

    constructor(string memory description_) Ownable(msg.sender) {
        description = description_;
    }

    function submit(int256 answer) external onlyOwner {
        latestAnswer = answer;
        latestRound++;
        updatedAt = uint64(block.timestamp);
        emit AnswerUpdated(answer, latestRound, block.timestamp);
    }

    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updated, uint80 answeredInRound)
    {
        if (updatedAt == 0) revert NoDataPresent();
        return (latestRound, latestAnswer, updatedAt, updatedAt, latestRound);
    }
}
