package io.jrun.comm.tcp;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The end of a channel's stream to one peer: the posted transfers, and the connection that moves them once there is
 * one. Confined to the channel's thread.
 */
final class PeerStream {
    private final int peer;
    private final TcpChannel channel;
    private final ArrayDeque<TcpTransfer> sends = new ArrayDeque<>();
    private final ArrayDeque<TcpTransfer> receives = new ArrayDeque<>();
    private final ByteBuffer sendHeader = ByteBuffer.allocateDirect(FrameHeader.BYTES);
    private final ByteBuffer receiveHeader = ByteBuffer.allocateDirect(FrameHeader.BYTES);
    private final ByteBuffer[] gather = new ByteBuffer[2];
    private final StagingBuffer sendStaging = new StagingBuffer();
    private final StagingBuffer receiveStaging = new StagingBuffer();

    private @Nullable Connection connection;
    private @Nullable SelectionKey key;
    private boolean sendBegun;
    private boolean receiveBegun;
    private boolean headerChecked;
    private boolean hasMoved;
    private long callNumber;
    private boolean involved;
    private int sendStep;
    private int receiveStep;

    PeerStream(int peer, TcpChannel channel) {
        this.peer = peer;
        this.channel = channel;
    }

    /** Group rank of the peer. */
    int peer() {
        return peer;
    }

    boolean isOpen() {
        return connection != null;
    }

    boolean hasSends() {
        return !sends.isEmpty();
    }

    boolean hasReceives() {
        return !receives.isEmpty();
    }

    TcpTransfer lastSend() {
        return sends.getLast();
    }

    /** Whether the current call has posted a transfer on this stream. */
    boolean isInvolved() {
        return involved;
    }

    /** Ends the current call's use of this stream. */
    void leave() {
        involved = false;
    }

    /**
     * Begins the current call's use of this stream.
     *
     * @param number number of the program's call; frames are counted from 0 within each call
     */
    void involve(long number) {
        involved = true;
        if (number != callNumber) {
            callNumber = number;
            sendStep = 0;
            receiveStep = 0;
        }
    }

    TcpTransfer postSend(MemorySegment data) {
        TcpTransfer transfer = new TcpTransfer(this, data, sendStep++);
        sends.add(transfer);
        return transfer;
    }

    TcpTransfer postReceive(MemorySegment into) {
        TcpTransfer transfer = new TcpTransfer(this, into, receiveStep++);
        receives.add(transfer);
        setReadInterest(true);
        return transfer;
    }

    /** Posts a receive of the next frame's header. The next receive takes the rest of the frame. */
    TcpTransfer postHeader() {
        TcpTransfer transfer = TcpTransfer.ofHeader(this);
        receives.add(transfer);
        setReadInterest(true);
        return transfer;
    }

    /**
     * Returns the header of the next frame if the header has arrived and no receive has been posted. The next receive
     * still gets the whole frame.
     *
     * @return null if there is no such header
     */
    @Nullable
    FrameHeader peek() throws IOException {
        Connection open = connection;
        if (open == null || hasReceives()) {
            return null;
        }
        if (!receiveBegun) {
            receiveHeader.clear();
            receiveBegun = true;
            headerChecked = false;
        }
        if (receiveHeader.hasRemaining()) {
            long _ = open.read(receiveHeader); // The thread that waits for more bytes handles the end of the stream.
        }
        return receiveHeader.hasRemaining() ? null : header();
    }

    /** Returns the header that {@link #postHeader} has received. */
    FrameHeader header() throws HandshakeRefusedException {
        return FrameHeader.decode(receiveHeader);
    }

    /** Takes the connection over. {@code newKey} is registered without interests. */
    void open(Connection newConnection, SelectionKey newKey) {
        connection = newConnection;
        key = newKey;
        setReadInterest(hasReceives());
        setWriteInterest(hasSends());
    }

    /** Removes and returns the connection; null if there is none. */
    @Nullable
    Connection release() {
        Connection released = connection;
        connection = null;
        key = null;
        return released;
    }

    /** Moves bytes after the selector found the connection ready. */
    void ready() throws IOException {
        pump();
        if (!hasReceives()) {
            // Bytes of a later call stay in the kernel, which slows the sender down. They must not wake this thread.
            setReadInterest(false);
        }
    }

    /** Returns whether bytes were moved since the last call of this method. */
    boolean takeMoved() {
        boolean was = hasMoved;
        hasMoved = false;
        return was;
    }

    /** Moves as many bytes as possible without blocking. Returns whether bytes were moved. */
    boolean pump() throws IOException {
        Connection open = connection;
        if (open == null) {
            return false;
        }
        boolean sent = !sends.isEmpty() && pumpSends(open);
        boolean received = !receives.isEmpty() && pumpReceives(open);
        hasMoved |= sent || received;
        return sent || received;
    }

    private boolean pumpSends(Connection open) throws IOException {
        boolean moved = false;
        for (TcpTransfer transfer = sends.peek(); transfer != null; transfer = sends.peek()) {
            if (!sendBegun) {
                channel.encodeHeader(sendHeader, channel.rank(), transfer.step(), transfer.length());
                sendBegun = true;
            }
            ByteBuffer window = transfer.outgoing(sendStaging);
            long written = sendHeader.hasRemaining() ? write(open, sendHeader, window) : open.write(window);
            moved |= written > 0;
            if (sendHeader.hasRemaining() || window.hasRemaining()) {
                setWriteInterest(true);
                return moved;
            }
            if (transfer.isDrained()) {
                sends.remove();
                transfer.markDone();
                sendBegun = false;
            }
        }
        setWriteInterest(false);
        return moved;
    }

    private boolean pumpReceives(Connection open) throws IOException {
        boolean moved = false;
        for (TcpTransfer transfer = receives.peek(); transfer != null; transfer = receives.peek()) {
            if (!receiveBegun) {
                receiveHeader.clear();
                receiveBegun = true;
                headerChecked = false;
            }
            ByteBuffer window = transfer.incoming(receiveStaging);
            long read = read(open, receiveHeader, window);
            if (read < 0) {
                throw new EOFException();
            }
            moved |= read > 0;
            if (receiveHeader.hasRemaining()) {
                return moved;
            }
            if (transfer.isHeader()) {
                receives.remove();
                transfer.markDone();
                return true;
            }
            if (!headerChecked) {
                channel.checkHeader(receiveHeader, peer, transfer.step(), transfer.length());
                headerChecked = true;
            }
            transfer.landed(receiveStaging);
            if (window.hasRemaining()) {
                return moved;
            }
            if (transfer.isDrained()) {
                receives.remove();
                transfer.markDone();
                receiveBegun = false;
                moved = true;
            }
        }
        return moved;
    }

    private long write(Connection open, ByteBuffer header, ByteBuffer window) throws IOException {
        gather[0] = header;
        gather[1] = window;
        return window.hasRemaining() ? open.write(gather) : open.write(header);
    }

    private long read(Connection open, ByteBuffer header, ByteBuffer window) throws IOException {
        if (!header.hasRemaining()) {
            // The header of an empty message may arrive alone.
            return window.hasRemaining() ? open.read(window) : 0;
        }
        gather[0] = header;
        gather[1] = window;
        return window.hasRemaining() ? open.read(gather) : open.read(header);
    }

    private void setReadInterest(boolean isWanted) {
        setInterest(SelectionKey.OP_READ, isWanted);
    }

    private void setWriteInterest(boolean isWanted) {
        setInterest(SelectionKey.OP_WRITE, isWanted);
    }

    private void setInterest(int interest, boolean isWanted) {
        SelectionKey current = key;
        if (current != null) {
            int before = current.interestOps();
            int after = isWanted ? before | interest : before & ~interest;
            if (before != after) {
                current.interestOps(after);
            }
        }
    }
}
