package io.jrun.agent.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Test;

class MasterPortTest {
    @Test
    void programThatReusesAddressesMayListenOnTheReservedPort() throws IOException {
        try (MasterPort reserved = MasterPort.reserve(0);
                ServerSocket foreign = new ServerSocket()) {
            foreign.setReuseAddress(true);
            foreign.bind(new InetSocketAddress(reserved.port()));
            try (Socket client = new Socket(InetAddress.getLoopbackAddress(), reserved.port())) {
                assertThat(client.isConnected()).isTrue();
            }
        }
    }

    @Test
    void twoReservationsGetDifferentPorts() throws IOException {
        try (MasterPort one = MasterPort.reserve(0);
                MasterPort two = MasterPort.reserve(0)) {
            assertThat(one.port()).isPositive().isNotEqualTo(two.port());
        }
    }

    @Test
    void requestedPortInUseIsAClearError() throws IOException {
        try (ServerSocket other = new ServerSocket(0)) {
            assertThatThrownBy(() -> MasterPort.reserve(other.getLocalPort()).close())
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("--master-port " + other.getLocalPort() + " cannot be reserved")
                    .hasMessageContaining("Address already in use");
        }
    }
}
