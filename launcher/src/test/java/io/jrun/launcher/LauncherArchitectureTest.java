package io.jrun.launcher;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The dependencies that the packages of the launcher may have. */
@AnalyzeClasses(packages = "io.jrun.launcher", importOptions = ImportOption.DoNotIncludeTests.class)
class LauncherArchitectureTest {
    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("io.jrun.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule jobsAreValues = noClasses()
            .that()
            .resideInAPackage("..job..")
            .should()
            .dependOnClassesThat(resideInAnyPackage(
                            "..cli..", "..coordinator..", "..console..", "..report..", "io.jrun.agent..", "io.grpc..")
                    .and(not(resideInAPackage("io.jrun.agent.container")))); // values, too

    @ArchTest
    static final ArchRule theJobMachineHasNoInputOrOutput = noClasses()
            .that()
            .haveNameMatching(".*\\.(JobMachine|RoundStart|RoundEnd|RankAssignment|Round|JobProgress|Membership)")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.grpc..", "io.jrun.agent..", "java.io..", "java.nio..");

    @ArchTest
    static final ArchRule onlyOneClassEndsTheProcess = noClasses()
            .that()
            .doNotHaveSimpleName("FastExit")
            .should()
            .callMethod(System.class, "exit", int.class)
            .orShould()
            .callMethod(Runtime.class, "halt", int.class);

    @ArchTest
    static final ArchRule certificatesDependOnNoOtherPackageThatDoesMoreThanReadFiles = noClasses()
            .that()
            .resideInAPackage("..launcher.cert..")
            .should()
            .dependOnClassesThat(JavaClass.Predicates.resideInAPackage("io.jrun..")
                    .and(JavaClass.Predicates.resideOutsideOfPackages("..launcher.cert..", "io.jrun.comm.file")));

    @ArchTest
    static final ArchRule onlyCertificatesUseBouncyCastle = noClasses()
            .that()
            .resideOutsideOfPackage("..launcher.cert..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.bouncycastle..");
}
