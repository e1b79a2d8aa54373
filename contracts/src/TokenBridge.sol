// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IBridged {
    function mint(address to, uint256 amount) external;
    function burnFrom(address from, uint256 amount) external;
}

/// @title A bridge that mints and burns a token, with the events of Hyperlane's routes or with one of its own.
contract TokenBridge {
    event SentTransferRemote(uint32 indexed destination, bytes32 indexed recipient, uint256 amount);
    event ReceivedTransferRemote(uint32 indexed origin, bytes32 indexed recipient, uint256 amount);
    event Teleported(address from, uint256 amount);

    IBridged private immutable token;

    constructor(address token_) {
        token = IBridged(token_);
    }

    function send(uint256 amount) external {
        token.burnFrom(msg.sender, amount);
        emit SentTransferRemote(1, bytes32(uint256(uint160(msg.sender))), amount);
    }

    function receiveRemote(uint256 amount) external {
        token.mint(msg.sender, amount);
        emit ReceivedTransferRemote(1, bytes32(uint256(uint160(msg.sender))), amount);
    }

    function teleport(uint256 amount) external {
        token.burnFrom(msg.sender, amount);
        emit Teleported(msg.sender, amount);
    }
}
