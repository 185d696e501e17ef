package io.jrun.agent.control;

import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One worker's control connection. A thread reads, another writes what was queued, so that a worker that does not read (it
 * may be stopped in a debugger) holds up nobody; when too much is queued the connection is closed. All methods may be called
 * from any thread and none waits.
 */
public final class WorkerConnection {
    /** Hears of everything that happens on connections, on the connections' own threads. */
    public interface Events {
        /** The worker sent a frame. */
        void received(WorkerConnection connection, Frame.FromWorker frame);

        /** The last event; {@code problem} is empty if the worker closed in order. */
        void ended(WorkerConnection connection, String problem);

        /** A connection could not be accepted; said once, since accepting goes on. */
        void acceptFailed(String problem);
    }

    /** A few hundred peer tables, or store values of the largest size: beyond that the worker is not reading. */
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

    /** Closes once everything queued is written. */
    public void close() {
        queue.add(CLOSE);
    }

    /** Closes now. */
    public void abandon() {
        closeChannel();
        close();
    }

    private void read() {
        String problem = "";
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Channels.newInputStream(channel)))) {
            while (true) {
                switch (FrameCodec.readAtAgent(in)) {
                    case Frame.FromWorker frame -> events.received(this, frame);
                    case Frame.FromAgent frame ->
                        throw new IOException("a worker sent an agent's frame: "
                                + frame.getClass().getSimpleName());
                }
            }
        } catch (EOFException e) {
            problem = ""; // also inside a frame: the worker's exit, told elsewhere, is the event
        } catch (IOException e) {
            problem = channel.isOpen() ? String.valueOf(e.getMessage()) : "";
        }
        abandon();
        events.ended(this, problem);
    }

    private void write() {
        try {
            for (byte[] frame = queue.take(); frame.length > 0; frame = queue.take()) {
                ByteBuffer buffer = ByteBuffer.wrap(frame);
                while (buffer.hasRemaining()) {
                    channel.write(buffer);
                }
                queuedBytes.addAndGet(-frame.length);
            }
        } catch (IOException e) {
            // The reading side sees the same end and reports it.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        closeChannel();
    }

    private void closeChannel() {
        try {
            channel.close();
        } catch (IOException e) {
            // The descriptor is released in any case; the peer sees the end of the stream.
        }
    }
}
