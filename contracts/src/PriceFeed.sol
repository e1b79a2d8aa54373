// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title A price feed with the interface and the event of Chainlink's aggregators, 8 decimals.
contract PriceFeed is Ownable {
    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);

    error NoDataPresent();

    struct Round {
        int192 answer;
        uint64 updatedAt;
    }

    uint8 public constant decimals = 8;
    uint256 public constant version = 4;
    string public description;
    uint80 public latestRound;
    mapping(uint80 roundId => Round) private rounds;

    constructor(string memory description_) Ownable(msg.sender) {
        description = description_;
    }

    function submit(int192 answer) external onlyOwner {
        latestRound++;
        rounds[latestRound] = Round(answer, uint64(block.timestamp));
        emit AnswerUpdated(answer, latestRound, block.timestamp);
    }

    function latestAnswer() external view returns (int256) {
        return rounds[latestRound].answer;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return getRoundData(latestRound);
    }

    function getRoundData(uint80 roundId)
        public
        view
        returns (uint80, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        Round memory round = rounds[roundId];
        if (round.updatedAt == 0) revert NoDataPresent();
        return (roundId, round.answer, round.updatedAt, round.updatedAt, roundId);
    }
}
