package io.jrun.comm.store;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Store;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.local.LocalWorld;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The store from the view of a program. */
@Timeout(60)
class StoreClientTest {
    private static final Duration SOON = Duration.ofSeconds(30);
    private static final Duration AT_ONCE = Duration.ZERO;

    private static void run(Consumer<Store> body) {
        LocalWorld.run(1, world -> body.accept(world.store()));
    }

    private static void assertFails(ThrowingCallable call, ErrorCode code, String message) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CommException.class,
                        failure -> assertThat(failure.code()).isEqualTo(code))
                .hasMessageContaining(message);
    }

    @Test
    void jrunsOwnKeysAreNotThePrograms() {
        run(store -> {
            String reserved = "': keys that begin with 'jrun/' are jrun's own. Choose another prefix.";
            assertFails(() -> store.set("jrun/x", new byte[1]), ErrorCode.USAGE, "store set 'jrun/x" + reserved);
            assertFails(() -> store.get("jrun/x", AT_ONCE), ErrorCode.USAGE, "store get 'jrun/x" + reserved);
            assertFails(() -> store.await(List.of("a", "jrun/x"), AT_ONCE), ErrorCode.USAGE, "jrun's own");
            assertFails(() -> store.add("jrun/x", 1), ErrorCode.USAGE, "store add 'jrun/x" + reserved);
            assertFails(() -> store.delete("jrun/x"), ErrorCode.USAGE, "store delete 'jrun/x" + reserved);
            assertFails(
                    () -> store.compareAndSet("jrun/cause/0/world", null, new byte[1]), ErrorCode.USAGE, "jrun's own");
            store.set("jrun", new byte[1]);
        });
    }

    @Test
    void aValueOfOneRankReachesAnotherRank() {
        LocalWorld.run(2, world -> {
            if (world.rank() == 0) {
                world.store().set("key", "value".getBytes(UTF_8));
            } else {
                assertThat(world.store().get("key", SOON)).asString(UTF_8).isEqualTo("value");
                world.store().await(List.of("key"), SOON);
            }
            assertThat(world.store().add("count", 1)).isBetween(1L, 2L);
        });
    }

    @Test
    void aKeyThatNoRankSetsIsATimeoutThatNamesTheKey() {
        run(store -> {
            assertFails(
                    () -> store.get("never", AT_ONCE),
                    ErrorCode.RENDEZVOUS_TIMEOUT,
                    "store get 'never': timeout: no rank has set [never]");
            assertFails(
                    () -> store.await(List.of("a", "b"), Duration.ofMillis(1)),
                    ErrorCode.RENDEZVOUS_TIMEOUT,
                    "store await [a, b]: timeout: no rank has set [a, b]");
        });
    }

    @Test
    void compareAndSetAndDeleteReturnTheCurrentState() {
        run(store -> {
            byte[] one = "1".getBytes(UTF_8);
            byte[] two = "2".getBytes(UTF_8);
            assertThat(store.compareAndSet("key", null, one)).isEqualTo(one);
            assertThat(store.compareAndSet("key", null, two)).isEqualTo(one);
            assertThat(store.compareAndSet("key", one, two)).isEqualTo(two);
            assertThat(store.delete("key")).isTrue();
            assertThat(store.delete("key")).isFalse();
        });
    }

    /** The agent would take such a frame for an attack. */
    @Test
    void valuesLargerThanAFrameAreRefusedBeforeTheSend() {
        String longKey = "k".repeat(FrameCodec.MAX_KEY_BYTES);
        run(store -> {
            assertFails(
                    () -> store.set("big", new byte[FrameCodec.MAX_VALUE_BYTES + 1]),
                    ErrorCode.USAGE,
                    "store value of 'big' has " + (FrameCodec.MAX_VALUE_BYTES + 1) + " bytes");
            assertFails(() -> store.get(longKey, AT_ONCE), ErrorCode.USAGE, "store command with 1 keys of ");
            store.set("small", "not a number".getBytes(UTF_8));
            assertFails(() -> store.add("small", 1), ErrorCode.USAGE, "the value of 'small' is not a decimal number");
        });
    }
}
