package io.jrun.train.autograd;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.PointerConsumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Keeps the Java side of each call of an {@link AutogradFunction} alive as long as its node. The engine refers to Java
 * hooks only weakly, and the presets do not report when a node is freed. So each node holds a marker: an empty tensor
 * whose storage has the number of the call as its address. Torch frees the storage together with the node, and calls
 * the deleter with the address.
 */
final class LiveCalls {
    private static final long[] EMPTY = {0};
    private static final Map<Long, FunctionCall> CALLS = new ConcurrentHashMap<>();
    /** Addresses of the nodes of markers. */
    private static final Set<Long> MARKER_NODES = ConcurrentHashMap.newKeySet();

    private static final AtomicLong LAST = new AtomicLong();
    private static final Deleter DELETER = new Deleter();

    private LiveCalls() {}

    /** Calls whose nodes are alive. */
    static int count() {
        return CALLS.size();
    }

    /**
     * A new marker, which is a leaf. A reference to the marker keeps {@code call} alive. The call is closed when the
     * marker is freed.
     */
    static Tensor mark(FunctionCall call) {
        long number = LAST.incrementAndGet();
        CALLS.put(number, call);
        try (TensorOptions options = new TensorOptions(torch.ScalarType.Float)) {
            return torch.from_blob(new CallNumber(number), EMPTY, DELETER, options)
                    .requires_grad_(true);
        }
    }

    /** Stores the node of the marker of {@code call}: the program's leaves do not include the marker. */
    static void markerNode(FunctionCall call, Node node) {
        call.setMarkerNode(node.address());
        MARKER_NODES.add(node.address());
    }

    static boolean isMarker(Node node) {
        return MARKER_NODES.contains(node.address());
    }

    /** The tensors that the call of the marker {@code node} keeps for the backward pass; none for another node. */
    static List<Tensor> savedTensors(Node node) {
        return CALLS.values().stream()
                .filter(call -> call.markerNode() == node.address())
                .flatMap(call -> call.savedTensors().stream())
                .toList();
    }

    private static final class CallNumber extends Pointer {
        CallNumber(long number) {
            super((Pointer) null);
            address = number;
        }
    }

    /** Runs on the thread that drops the last reference to a node. Must not throw into native code. */
    private static final class Deleter extends PointerConsumer {
        Deleter() {
            // The first caller may have a PointerScope open. The scope must not free this object.
            retainReference();
        }

        @Override
        public void call(Pointer storage) {
            FunctionCall ended = CALLS.remove(storage.address());
            if (ended != null) {
                MARKER_NODES.remove(ended.markerNode());
                ended.close();
            }
        }
    }
}
