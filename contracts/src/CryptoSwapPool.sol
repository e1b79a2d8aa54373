// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A pool with the views and the event of Curve v2, whose coins are counted without sign.
contract CryptoSwapPool {
    event TokenExchange(
        address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id, uint256 tokens_bought
    );

    address[2] public coins;

    constructor(address first, address second) {
        coins = [first, second];
    }

    function exchange() external {
        emit TokenExchange(msg.sender, 0, 10 ** 18, 1, 10 ** 18);
    }
}
