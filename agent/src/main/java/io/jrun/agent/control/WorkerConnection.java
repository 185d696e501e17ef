package io.jrun.agent.control;

import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The control connection of one worker. One thread reads, another thread writes the queued frames. A worker that does
 * not read (for example in a debugger) therefore delays nothing. When the queue is full the connection is closed. Any
 * thread may call all methods. No method waits.
 */
public final class WorkerConnection {
    /** Receives the events of connections, on the threads of the connections. */
    public interface Events {
        /** The worker sent a frame. */
        void received(WorkerConnection connection, Frame.FromWorker frame);

        /** The last event. {@code problem} is empty if the worker closed the connection normally. */
        void ended(WorkerConnection connection, String problem);

        /** A connection could not be accepted. Reported once; accepting continues. */
        void acceptFailed(String problem);
    }

    /**
     * The bound of the queue: a few hundred tables of peers, or store values of the largest size. Above this bound the
     * worker does not read.
     */
    private static final long MAX_QUEUED_BYTES = 64 << 20;

    private static final byte[] CLOSE = {};

    private final SocketChannel channel;
    private final Events events;
    private final LinkedBlockingQueue<byte[]> queue = new LinkedBlockingQueue<>();
    private final AtomicLong queuedBytes = new AtomicLong();

    WorkerConnection(SocketChannel channel, Events events) {
        this.channel = channel;
        this.events = events;
    }

    void start() {
        Thread.ofPlatform().daemon().name("jrun-control-read").start(this::read);
        Thread.ofPlatform().daemon().name("jrun-control-write").start(this::write);
    }

    /** Queues a frame. */
    public void send(Frame.FromAgent frame) {
        sendEncoded(FrameCodec.encode(frame));
    }

    /** Queues a frame that {@link FrameCodec#encode} has made. */
    public void sendEncoded(byte[] frame) {
        if (queuedBytes.addAndGet(frame.length) > MAX_QUEUED_BYTES) {
            abandon();
            return;
        }
        queue.add(frame);
    }

    /** Closes the connection when all queued frames have been written. */
    public void close() {
        queue.add(CLOSE);
    }

    /** Closes the connection now. */
    public void abandon() {
        closeChannel();
        close();
    }

    private void read() {
        String problem = "";
        DataInputStream in = new DataInputStream(new BufferedInputStream(Channels.newInputStream(channel)));
        try {
            while (true) {
                switch (FrameCodec.readAtAgent(in)) {
                    case Frame.FromWorker frame -> events.received(this, frame);
                    case Frame.FromAgent frame ->
                        throw new IOException("a worker sent an agent's frame: "
                                + frame.getClass().getSimpleName());
                }
            }
        } catch (EOFException | SocketException e) {
            problem = ""; // Also inside a frame, or with unread frames: the exit of the worker is reported elsewhere.
        } catch (IOException e) {
            problem = channel.isOpen() ? String.valueOf(e.getMessage()) : "";
        }
        abandon();
        events.ended(this, problem);
    }

    /**
     * Writes until {@link #close}. A worker that has ended accepts no frame. Its own last frames may still be unread.
     * Therefore a failed write ends only this direction: the reading thread finds the end after these frames.
     */
    private void write() {
        boolean hasFailed = false;
        try {
            for (byte[] frame = queue.take(); frame.length > 0; frame = queue.take()) {
                hasFailed = hasFailed || !isWritten(ByteBuffer.wrap(frame));
                queuedBytes.addAndGet(-frame.length);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        closeChannel();
    }

    private boolean isWritten(ByteBuffer frame) {
        try {
            while (frame.hasRemaining()) {
                channel.write(frame);
            }
            return true;
        } catch (IOException e) {
            endOutput();
            return false;
        }
    }

    /** A worker that lives sees the end of the connection, because it would miss frames. */
    private void endOutput() {
        try {
            channel.shutdownOutput();
        } catch (IOException e) {
            // The connection has ended.
        }
    }

    private void closeChannel() {
        try {
            channel.close();
        } catch (IOException e) {
            // The descriptor is released in any case, and the peer sees the end of the stream.
        }
    }
}
