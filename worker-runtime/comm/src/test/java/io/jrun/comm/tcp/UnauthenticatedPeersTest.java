package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class UnauthenticatedPeersTest {
    private static final WorldContext WORLD = new WorldContext("test", 0, 0, Bytes.EMPTY, List.of(), Optional.empty());

    private final List<SocketChannel> channels = new ArrayList<>();
    private ServerSocketChannel listener;

    @BeforeEach
    void listen() throws IOException {
        listener = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    @AfterEach
    void close() throws IOException {
        listener.close();
        for (SocketChannel channel : channels) {
            channel.close();
        }
    }

    private IncomingHandshake callerFrom(String address) throws IOException {
        SocketChannel caller = SocketChannel.open().bind(new InetSocketAddress(address, 0));
        channels.add(caller);
        caller.connect(listener.getLocalAddress());
        SocketChannel called = listener.accept();
        channels.add(called);
        return new IncomingHandshake(new PlainConnection(called), WORLD, new SecretProof(TcpRanks.SECRET), 0);
    }

    @Test
    void theOldestOfTheAddressThatHasTheMostMakesRoom() throws IOException {
        UnauthenticatedPeers callers = new UnauthenticatedPeers(4);
        IncomingHandshake rank = callerFrom("127.0.0.1");
        IncomingHandshake flood = callerFrom("127.0.0.2");
        callers.add(rank);
        callers.add(flood);
        callers.add(callerFrom("127.0.0.2"));
        assertThat(callers.surplus()).isEmpty();
        callers.add(callerFrom("127.0.0.3"));
        assertThat(callers.surplus()).containsSame(flood);
        assertThat(callers.remove(flood)).isTrue();
        assertThat(callers.remove(flood)).isFalse();
        assertThat(callers.oldest()).containsSame(rank);
    }
}
