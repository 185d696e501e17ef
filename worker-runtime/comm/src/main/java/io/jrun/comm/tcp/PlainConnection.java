package io.jrun.comm.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A connection without encryption. Native memory goes to and from the kernel without a copy. */
record PlainConnection(SocketChannel socket) implements Connection {
    private static final byte[] NONE = {};

    @Override
    public long read(ByteBuffer... into) throws IOException {
        return into.length == 1 ? socket.read(into[0]) : socket.read(into);
    }

    @Override
    public long write(ByteBuffer... from) throws IOException {
        return from.length == 1 ? socket.write(from[0]) : socket.write(from);
    }

    @Override
    public int interest(int wanted) {
        return wanted;
    }

    @Override
    public byte[] binding() {
        return NONE;
    }
}
