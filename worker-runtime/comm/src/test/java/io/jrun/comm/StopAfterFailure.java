package io.jrun.comm;

import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;

/**
 * Skips the rest of a class after a failed test. A broken collective would hang until a deadline in every case of a
 * matrix.
 */
public final class StopAfterFailure implements ExecutionCondition, AfterTestExecutionCallback {
    private static final Namespace NAMESPACE = Namespace.create(StopAfterFailure.class);

    /** For JUnit. */
    public StopAfterFailure() {}

    @Override
    public void afterTestExecution(ExtensionContext context) {
        context.getExecutionException().ifPresent(_ -> store(context).put("failed", context.getDisplayName()));
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        if (context.getTestClass().isEmpty()) {
            return ConditionEvaluationResult.enabled("no class");
        }
        String failed = store(context).get("failed", String.class);
        return failed == null
                ? ConditionEvaluationResult.enabled("nothing has failed")
                : ConditionEvaluationResult.disabled("'" + failed + "' of this class has failed");
    }

    /** The failure of the class: the tests of one run share it. */
    private static Store store(ExtensionContext context) {
        ExtensionContext root = context.getRoot();
        return root.getStore(Namespace.create(NAMESPACE, context.getRequiredTestClass()));
    }
}
