# The post-install steps by hand; the appliance runs the same ones by itself (docs/pipeline.md).
#
#   make install-core CLUSTER=lab        with a kubeconfig of the running appliance, made for this and removed after
#   make install-core KUBECONFIG=FILE    with one of your own
#
# Versions and values come from the environment: `scripts/post-install/install-core --help`.

STEPS := untaint install-core install-argo bootstrap-apps

.PHONY: help $(STEPS)

help:
	@sed -n 's/^# \{0,1\}//p' Makefile

$(STEPS):
	@CLUSTER='$(CLUSTER)' KUBECONFIG='$(KUBECONFIG)' scripts/post-install/lib/by-hand.sh $@
